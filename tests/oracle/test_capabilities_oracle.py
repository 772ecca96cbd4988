"""The table of options against the types of the services' own SDKs.

An SDK's types are the published description of its service: a row must have what they have, and
nothing that they lack. What is accepted otherwise is listed with its reason.
"""

from collections.abc import Iterable
from typing import Any, get_args, get_type_hints

import pytest
from anthropic.types import (
    document_block_param,
    image_block_param,
    thinking_config_param,
    tool_param,
)
from anthropic.types import message_create_params as messages
from anthropic.types.output_config_param import OutputConfigParam
from anthropic.types.tool_choice_auto_param import ToolChoiceAutoParam
from google.genai import types as gemini
from openai.types import embedding_create_params
from openai.types.chat import (
    chat_completion_content_part_image_param,
    chat_completion_content_part_param,
    completion_create_params,
)
from openai.types.responses import (
    response_create_params,
    response_input_content_param,
    response_input_file_param,
    response_input_image_param,
    response_text_config_param,
)
from openai.types.shared_params.function_definition import FunctionDefinition
from openai.types.shared_params.reasoning import Reasoning
from openai.types.shared_params.reasoning_effort import ReasoningEffort

from hermes.ports.options import Option
from hermes.provider_kit.capabilities import known_services, service_options
from hermes.providers.openai.presets import presets
from hermes.testing import ollama_shape

EVERY: frozenset[Option] = frozenset(get_args(Option))


# Any: an SDK's class.
def fields(*kinds: Any) -> set[str]:
    return {name for kind in kinds for name in get_type_hints(kind)}


def words(kind: Any) -> str:
    """Return everything that a type is made of, as one text."""
    return str(kind)


def those(pairs: Iterable[tuple[Option, bool]]) -> frozenset[Option]:
    return frozenset(option for option, is_there in pairs if is_there)


EFFORTS: tuple[tuple[Option, bool], ...] = (
    ("minimal_effort", "'minimal'" in words(ReasoningEffort)),
    ("xhigh_effort", "'xhigh'" in words(ReasoningEffort)),
    ("max_effort", "'max'" in words(ReasoningEffort)),
)


def openai_has() -> frozenset[Option]:
    body = fields(completion_create_params.CompletionCreateParamsBase)
    same: tuple[Option, ...] = (
        "seed",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "logprobs",
        "top_k",
        "min_p",
        "verbosity",
        "prediction",
    )
    parts = words(chat_completion_content_part_param.ChatCompletionContentPartParam)
    formats = words(completion_create_params.ResponseFormat)
    embedding = get_type_hints(embedding_create_params.EmbeddingCreateParams)
    picture = fields(chat_completion_content_part_image_param.ImageURL)
    return those(
        [
            *((name, name in body) for name in same),
            ("parallel_tools", "parallel_tool_calls" in body),
            ("reasoning_off", "none" in words(ReasoningEffort)),
            *EFFORTS,
            ("strict_tools", "strict" in fields(FunctionDefinition)),
            ("json_mode", "ResponseFormatJSONObject" in formats),
            ("image_address", "url" in picture),
            ("image_detail", "detail" in picture),
            ("pdf", "File" in parts),
            ("audio", "InputAudio" in parts),
            ("dimensions", "dimensions" in embedding),
            ("token_arrays", "int" in words(embedding["input"])),
        ]
    )


def responses_has() -> frozenset[Option]:
    body = fields(response_create_params.ResponseCreateParamsBase)
    text = get_type_hints(response_text_config_param.ResponseTextConfigParam)
    file = fields(response_input_file_param.ResponseInputFileParam)
    picture = fields(response_input_image_param.ResponseInputImageParam)
    pictures = get_type_hints(response_input_image_param.ResponseInputImageParam)
    parts = words(response_input_content_param.ResponseInputContentParam)
    same: tuple[Option, ...] = (
        "seed",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "top_k",
        "min_p",
        "prediction",
    )
    return those(
        [
            *((name, name in body) for name in same),
            ("logprobs", "top_logprobs" in body),
            ("parallel_tools", "parallel_tool_calls" in body),
            ("strict_tools", True),  # the field is required on this wire
            ("json_mode", "JSONObject" in words(text["format"])),
            ("verbosity", "verbosity" in text),
            ("reasoning_summary", "summary" in fields(Reasoning)),
            ("reasoning_off", "none" in words(ReasoningEffort)),
            *EFFORTS,
            ("image_address", "image_url" in picture),
            ("image_detail", "detail" in picture),
            ("original_detail", "'original'" in words(pictures["detail"])),
            ("pdf", "file_data" in file),
            ("pdf_address", "file_url" in file),
            ("audio", "Audio" in parts),
        ]
    )


def anthropic_has() -> frozenset[Option]:
    body = fields(messages.MessageCreateParamsBase)
    document = words(get_type_hints(document_block_param.DocumentBlockParam)["source"])
    picture = words(get_type_hints(image_block_param.ImageBlockParam)["source"])
    effort = words(get_type_hints(OutputConfigParam)["effort"])
    same: tuple[Option, ...] = ("seed", "frequency_penalty", "presence_penalty", "top_k")
    return those(
        [
            *((name, name in body) for name in same),
            ("strict_tools", "strict" in fields(tool_param.ToolParam)),
            ("parallel_tools", "disable_parallel_tool_use" in fields(ToolChoiceAutoParam)),
            ("reasoning_off", "Disabled" in words(thinking_config_param.ThinkingConfigParam)),
            ("xhigh_effort", "'xhigh'" in effort),
            ("max_effort", "'max'" in effort),
            ("image_address", "URLImageSource" in picture),
            ("pdf", "Base64PDFSource" in document),
            ("pdf_address", "URLPDFSource" in document),
        ]
    )


def gemini_has() -> frozenset[Option]:
    body = set(gemini.GenerateContentConfig.model_fields)
    same: tuple[Option, ...] = (
        "seed",
        "frequency_penalty",
        "presence_penalty",
        "logit_bias",
        "logprobs",
        "top_k",
        "min_p",
    )
    blob = "inline_data" in gemini.Part.model_fields
    return those(
        [
            *((name, name in body) for name in same),
            ("json_mode", "response_mime_type" in body),
            ("reasoning_off", "thinking_budget" in gemini.ThinkingConfig.model_fields),
            ("minimal_effort", "MINIMAL" in gemini.ThinkingLevel.__members__),
            ("image_address", "file_data" in gemini.Part.model_fields),
            ("pdf", blob),
            ("audio", blob),
            ("dimensions", "output_dimensionality" in gemini.EmbedContentConfig.model_fields),
        ]
    )


def ollama_has() -> frozenset[Option]:
    """Return what the stand-in takes, which has the fields of the published description."""
    options = fields(ollama_shape.Options)
    chat = get_type_hints(ollama_shape.ChatRequest)
    same: tuple[Option, ...] = ("seed", "frequency_penalty", "presence_penalty", "top_k", "min_p")
    return those(
        [
            *((name, name in options) for name in same),
            ("logprobs", "logprobs" in chat),
            ("json_mode", "json" in words(chat["format"])),
            ("reasoning_off", "bool" in words(chat["think"])),
            ("dimensions", "dimensions" in fields(ollama_shape.EmbedRequest)),
        ]
    )


# What the table has and the SDK's types lack, and why it is right.
BEYOND: dict[tuple[str, str], dict[Option, str]] = {
    ("anthropic", ""): {
        "top_k": "the published description has it for models up to 4.6; the SDK left out sampling"
    },
}


@pytest.mark.req("M1", "P1")
@pytest.mark.parametrize(
    ("wire", "service", "published"),
    [
        ("openai", "openai", openai_has()),
        ("responses", "openai", responses_has()),
        ("anthropic", "", anthropic_has()),
        ("gemini", "", gemini_has()),
        ("ollama", "", ollama_has()),
    ],
)
def test_a_row_has_what_its_service_publishes(
    wire: str, service: str, published: frozenset[Option]
) -> None:
    table = service_options(wire, service)
    everything = table.has.union(*(rule.adds for rule in table.rules))
    assert everything - BEYOND.get((wire, service), {}).keys() == published


@pytest.mark.req("P1")
def test_every_preset_has_a_row_and_every_row_a_preset() -> None:
    rows = {service for wire, service in known_services() if wire == "openai" and service}
    assert rows == set(presets())


@pytest.mark.req("P1")
@pytest.mark.parametrize(
    ("wire", "service", "model", "has", "lacks"),
    [
        ("openai", "openai", "gpt-4o-mini", "logprobs prediction pdf", "verbosity audio"),
        ("openai", "openai", "gpt-4o-audio-preview", "audio", "verbosity"),
        ("openai", "openai", "gpt-5-mini", "verbosity seed", "logprobs frequency_penalty"),
        ("openai", "openai", "gpt-5.2", "verbosity logprobs", "frequency_penalty"),
        ("openai", "openai", "gpt-5-chat-latest", "logprobs logit_bias", "prediction"),
        ("openai", "openai", "o3", "seed", "stop"),
        ("openai", "openai", "o4-mini-2025-04-16", "seed", "stop"),
        ("responses", "", "any", "json_mode", "stop"),
        ("anthropic", "", "claude-sonnet-4-6", "temperature top_p stop", "high_temperature"),
        ("anthropic", "", "claude-sonnet-4-6", "stop", "blank_stop"),
        ("of a plugin", "", "any", "temperature top_p stop", "top_k"),
        ("openai", "openai", "o3-mini", "seed stop", "logprobs pdf parallel_tools"),
        ("openai", "groq", "openai/gpt-oss-120b", "seed", "logprobs logit_bias"),
        ("openai", "openai", "gpt-5.2", "reasoning_off", "prediction"),
        ("openai", "openai", "gpt-5.1-chat-latest", "logprobs", "reasoning_off"),
        ("gemini", "", "gemini-2.5-flash", "reasoning_off", "logit_bias"),
        ("gemini", "", "gemini-2.5-pro", "seed", "reasoning_off frequency_penalty"),
        ("gemini", "", "gemini-flash-latest", "seed", "frequency_penalty presence_penalty"),
        ("gemini", "", "gemini-2.0-flash", "frequency_penalty presence_penalty", "logit_bias"),
        ("openai", "vllm", "any", "top_k min_p", "image_address"),
        ("openai", "", "any", "top_k image_address", "verbosity parallel_tools"),
        ("responses", "openai", "gpt-4o", "logprobs", "reasoning_summary verbosity seed"),
        ("responses", "openai", "gpt-5-mini", "reasoning_summary verbosity", "logprobs"),
        ("anthropic", "", "claude-sonnet-4-5", "top_k strict_tools pdf", "seed logprobs"),
        ("anthropic", "", "claude-opus-4-1-20250805", "top_k", "strict_tools"),
        ("anthropic", "", "claude-opus-5-5", "strict_tools", "top_k"),
        ("anthropic", "", "MiniMax-M2", "top_k", "strict_tools"),
        ("gemini", "", "models/gemini-2.0-flash", "seed audio", "image_address logit_bias"),
        ("gemini", "", "gemini-3-pro-preview", "image_address", "logit_bias"),
        ("openai", "openai", "gpt-5-mini", "minimal_effort", "xhigh_effort max_effort"),
        ("openai", "openai", "gpt-5.2", "xhigh_effort", "minimal_effort"),
        ("openai", "openai", "gpt-5.1", "reasoning_off", "minimal_effort xhigh_effort"),
        ("responses", "openai", "gpt-5.1-codex-max", "xhigh_effort", "minimal_effort"),
        ("responses", "openai", "o3", "", "minimal_effort xhigh_effort"),
        ("anthropic", "", "claude-opus-4-7", "xhigh_effort max_effort", "minimal_effort"),
        ("anthropic", "", "claude-sonnet-4-6", "max_effort", "xhigh_effort"),
        ("anthropic", "", "claude-opus-4-5", "top_k", "xhigh_effort max_effort"),
        ("gemini", "", "gemini-3-flash-preview", "minimal_effort", "xhigh_effort"),
        ("gemini", "", "gemini-3-pro-preview", "seed", "minimal_effort"),
        ("openai", "fireworks", "accounts/fireworks/models/glm-4p6", "reasoning_off", "audio"),
        ("openai", "fireworks", "accounts/fireworks/models/gpt-oss-120b", "top_k", "reasoning_off"),
        (
            "openai",
            "cerebras",
            "gpt-oss-120b",
            "prediction strict_tools parallel_tools frequency_penalty presence_penalty reasoning",
            "logit_bias reasoning_off",
        ),
        ("openai", "cerebras", "zai-glm-4.7", "reasoning reasoning_off", "logit_bias"),
        ("openai", "cerebras", "llama3.1-8b", "seed", "reasoning reasoning_off"),
        ("openai", "mistral", "mistral-small-latest", "logprobs top_k reasoning_off", "dimensions"),
        ("openai", "mistral", "mistral-medium-3-5", "reasoning reasoning_off", "logit_bias"),
        ("openai", "mistral", "mistral-large-latest", "seed", "reasoning reasoning_off"),
        ("openai", "mistral", "mistral-embed", "", "dimensions"),
        ("openai", "mistral", "codestral-embed-2505", "dimensions", ""),
        ("openai", "openai", "gpt-4o-mini", "temperature stop", "reasoning"),
        ("openai", "openai", "chatgpt-4o-latest", "temperature", "reasoning"),
        ("openai", "openai", "gpt-5-mini", "reasoning", "temperature top_p stop"),
        ("openai", "openai", "gpt-5-chat-latest", "temperature top_p stop", "reasoning"),
        ("openai", "openai", "gpt-5.2", "reasoning temperature", "sampling_beside_reasoning stop"),
        ("openai", "openai", "gpt-5.1-codex-max", "reasoning", "temperature"),
        ("openai", "openai", "gpt-5.2-chat-latest", "", "reasoning temperature"),
        ("openai", "openai", "o3", "reasoning", "temperature top_p"),
        ("responses", "openai", "gpt-4.1", "temperature", "reasoning"),
        ("responses", "openai", "o4-mini", "reasoning", "temperature"),
        ("openai", "groq", "llama-3.3-70b-versatile", "seed", "reasoning"),
        ("openai", "groq", "openai/gpt-oss-120b", "reasoning", "reasoning_off"),
        ("openai", "xai", "grok-4.3", "reasoning", "stop"),
        ("openai", "xai", "grok-4-1-fast", "seed", "reasoning"),
        ("openai", "xai", "grok-3-mini", "reasoning", "stop"),
        ("openai", "lmstudio", "any", "seed", "reasoning"),
        ("openai", "vllm", "any", "reasoning", "image_address"),
        ("openai", "", "any", "reasoning", "reasoning_off"),
        ("gemini", "", "gemini-2.0-flash", "seed", "reasoning"),
        ("gemini", "", "gemini-2.5-flash", "reasoning", ""),
        ("anthropic", "", "claude-3-5-haiku-20241022", "sampling_beside_reasoning", "reasoning"),
        ("anthropic", "", "claude-3-7-sonnet-latest", "reasoning", "sampling_beside_reasoning"),
        ("anthropic", "", "claude-sonnet-4-6", "reasoning", "sampling_beside_reasoning"),
        ("of a plugin", "", "any", "forced_tools low_effort", "seed"),
        ("openai", "openai", "gpt-5.6-sol", "max_effort xhigh_effort", "reasoning_beside_tools"),
        ("openai", "openai", "gpt-5.4", "", "reasoning_off_beside_tools max_effort"),
        ("openai", "openai", "gpt-5.2", "reasoning_beside_tools reasons_only_if_asked", ""),
        ("openai", "openai", "gpt-5.5", "xhigh_effort", "reasons_only_if_asked"),
        ("responses", "openai", "gpt-5.6-terra", "reasoning_beside_tools max_effort", ""),
        ("responses", "openai", "gpt-5.4-pro", "medium_effort xhigh_effort", "low_effort"),
        ("responses", "openai", "gpt-5.3-codex", "verbosity", ""),
        ("responses", "openai", "gpt-5.2-codex", "reasoning", "verbosity"),
        ("anthropic", "", "claude-opus-5", "forced_tools reasoning_off", "reasons_only_if_asked"),
        ("anthropic", "", "claude-opus-5-5", "", "forced_tools"),
        ("anthropic", "", "claude-fable-5", "max_effort", "forced_tools reasoning_off"),
        ("anthropic", "", "claude-opus-4-8", "forced_tools reasons_only_if_asked", ""),
        ("anthropic", "", "claude-sonnet-4-5-20250929", "forced_tools", ""),
        ("anthropic", "", "MiniMax-M2", "forced_tools", ""),
        ("gemini", "", "gemini-3-pro-preview", "low_effort", "medium_effort reasoning_off"),
        ("gemini", "", "gemini-3.1-pro-preview", "medium_effort", "reasoning_off"),
        ("gemini", "", "gemini-3.5-flash", "reasoning_off minimal_effort", ""),
        ("gemini", "", "gemini-3.7-flash", "low_effort", "reasoning_off minimal_effort"),
        ("openai", "moonshot", "kimi-k3", "low_effort max_effort", "medium_effort temperature"),
        ("openai", "moonshot", "kimi-k2.6", "reasoning_off", "low_effort temperature top_p"),
        ("openai", "moonshot", "kimi-k2.7-code", "reasoning", "reasoning_off forced_tools"),
        ("openai", "moonshot", "moonshot-v1-8k", "temperature", "reasoning high_temperature"),
        ("openai", "qwen", "qwen3-next-80b-a3b-thinking", "top_k", "forced_tools"),
        ("openai", "copilot", "gpt-4.1", "temperature", "reasoning reasoning_off"),
        ("openai", "copilot", "claude-sonnet-5", "temperature", "reasoning"),
    ],
)
def test_models_of_a_service_differ(
    wire: str, service: str, model: str, has: str, lacks: str
) -> None:
    found = service_options(wire, service).of(model)
    assert found >= set(has.split())
    assert not found & set(lacks.split())
    assert found <= EVERY
