"""Answers of every service's wire, as bytes: thoughts, texts and tool calls in any order.

A story is told in the way of each service: its deltas, its seals and signatures, its end and its
counts. A service without a word for a refusal, or for the way an answer stopped, tells what it has
instead. What Hermes reads from it are the pieces of a stream and the whole answer, by the
provider's own reader.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol

import msgspec

from hermes.ports.provider import CallEnd, ReasoningDelta, TextDelta, ToolCallDelta
from hermes.provider_kit.stream import AnswerAssembly
from hermes.providers.anthropic.assembly import AnthropicAssembly
from hermes.providers.anthropic.settings import AnthropicSettings
from hermes.providers.gemini.assembly import GeminiAssembly
from hermes.providers.gemini.settings import GeminiSettings
from hermes.providers.ollama.assembly import OllamaAssembly
from hermes.providers.ollama.settings import OllamaSettings
from hermes.providers.openai.assembly import OpenAIAssembly
from hermes.providers.openai.presets import Quirks
from hermes.providers.openai.settings import OpenAISettings
from hermes.providers.openai_responses.assembly import ResponsesAssembly
from hermes.providers.openai_responses.settings import ResponsesSettings

# Any: JSON of every shape.
Json = dict[str, Any]
Step = tuple[Literal["thought", "text", "refusal", "call"], str]
Story = tuple[Step, ...]
Stop = Literal["end", "length", "filter", "sequence"]
SEQUENCE = "END"
Piece = TextDelta | ReasoningDelta | ToolCallDelta

# The name under which every service answers, whatever it was asked for.
MODEL = "m-1"

STORIES: dict[str, Story] = {
    "thought and text": (("thought", "Hm."), ("text", "Good day")),
    "thought, text and call": (("thought", "Hm."), ("text", "I look."), ("call", "red")),
    "thought and calls": (("thought", "One.\n\nTwo."), ("call", "red"), ("call", "blue")),
    "call and text": (("call", "red"), ("text", "I have looked.")),
    "thoughts between": (
        ("thought", "Hm."),
        ("text", "First."),
        ("thought", "So."),
        ("text", "Then."),
        ("thought", "Well."),
        ("call", "red"),
    ),
    "two thoughts": (("thought", "Hm."), ("thought", "So."), ("text", "Good day")),
    "two texts": (("thought", "Hm."), ("text", "Good "), ("text", "day"), ("call", "red")),
    "sealed thoughts": (("thought", ""), ("text", "I look."), ("thought", ""), ("call", "red")),
}


def read_from(wire: str, story: Story) -> tuple[list[Piece], CallEnd]:
    """Return the pieces of the story's stream and the whole answer."""
    assembly, told = UPSTREAMS[wire]()
    pieces: list[Piece] = []
    for payload in told(story):
        for event in assembly.feed(msgspec.json.encode(payload)):
            assert not isinstance(event, CallEnd)
            pieces.append(event)
    return pieces, assembly.end()


def _halves(words: str) -> tuple[str, str]:
    return words[: len(words) // 2], words[len(words) // 2 :]


def _make_id(prefix: str) -> str:
    return f"{prefix}_made"


def _anthropic(story: Story, stop: Stop = "end") -> Iterator[Json]:
    counts = {"input_tokens": 16, "cache_read_input_tokens": 4}
    yield {"type": "message_start", "message": {"model": MODEL, "usage": counts}}
    for index, (kind, words) in enumerate(story):
        yield from _anthropic_block(index, kind, words)
    regular = "tool_use" if ("call", "red") in story else "end_turn"
    names = {"length": "max_tokens", "filter": "refusal", "sequence": "stop_sequence"}
    reason = "refusal" if story[-1][0] == "refusal" else names.get(stop, regular)
    found = SEQUENCE if stop == "sequence" else None
    delta = {"stop_reason": reason, "stop_sequence": found}
    written = {"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 2}}
    yield {"type": "message_delta", "delta": delta, "usage": written}
    yield {"type": "message_stop"}


def _anthropic_block(index: int, kind: str, words: str) -> Iterator[Json]:
    def grown(**delta: str) -> Json:
        return {"type": "content_block_delta", "index": index, "delta": delta}

    blocks: dict[str, Json] = {
        "thought": {"type": "thinking", "thinking": "", "signature": ""},
        "text": {"type": "text", "text": ""},
        "refusal": {"type": "text", "text": ""},
        "call": {"type": "tool_use", "id": f"toolu_{words}", "name": words, "input": {}},
    }
    deltas: dict[str, list[Json]] = {
        "thought": [
            *(grown(type="thinking_delta", thinking=half) for half in _halves(words)),
            grown(type="signature_delta", signature=f"c2ln{index}"),
        ],
        "text": [grown(type="text_delta", text=half) for half in _halves(words)],
        "refusal": [grown(type="text_delta", text=half) for half in _halves(words)],
        "call": [grown(type="input_json_delta", partial_json=half) for half in ('{"a"', ":1}")],
    }
    yield {"type": "content_block_start", "index": index, "content_block": blocks[kind]}
    yield from deltas[kind]
    yield {"type": "content_block_stop", "index": index}


def _responses(story: Story, stop: Stop = "end") -> Iterator[Json]:
    yield {"type": "response.created", "response": {"model": MODEL, "output": []}}
    output: list[Json] = []
    for index, (kind, words) in enumerate(story):
        item, deltas = _response_item(index, kind, words)
        added = {**item, "arguments": "", "summary": [], "content": []}
        yield {"type": "response.output_item.added", "output_index": index, "item": added}
        for name, fields in deltas:
            yield {"type": f"response.{name}", "output_index": index, **fields}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
        output.append(item)
    usage = {
        "input_tokens": 20,
        "output_tokens": 7,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    cuts = {"length": "max_output_tokens", "filter": "content_filter"}
    details = {"reason": cuts[stop]} if stop in cuts else None
    last = "response.completed" if details is None else "response.incomplete"
    ended = {"model": MODEL, "output": output, "usage": usage, "incomplete_details": details}
    yield {"type": last, "response": ended}


def _response_item(index: int, kind: str, words: str) -> tuple[Json, list[tuple[str, Json]]]:
    if kind == "thought":
        summary = words.split("\n\n") if words else []
        deltas: list[tuple[str, Json]] = []
        for piece in summary:
            deltas.append(("reasoning_summary_part.added", {}))
            deltas += [("reasoning_summary_text.delta", {"delta": half}) for half in _halves(piece)]
        texts = [{"type": "summary_text", "text": piece} for piece in summary]
        sealed = {"id": f"rs_{index}", "summary": texts, "encrypted_content": f"c2VhbA{index}"}
        return {"type": "reasoning", **sealed}, deltas
    if kind == "text":
        content = [{"type": "output_text", "text": words}]
        said = {"type": "message", "id": f"msg_{index}", "content": content}
        return said, [("output_text.delta", {"delta": half}) for half in _halves(words)]
    if kind == "refusal":
        refused = [{"type": "refusal", "refusal": words}]
        said = {"type": "message", "id": f"msg_{index}", "content": refused}
        return said, [("refusal.delta", {"delta": half}) for half in _halves(words)]
    call = {"call_id": f"call_{words}", "name": words, "arguments": '{"a":1}'}
    grown = [("function_call_arguments.delta", {"delta": half}) for half in ('{"a"', ":1}")]
    return {"type": "function_call", "id": f"fc_{index}", **call}, grown


def _gemini(story: Story, stop: Stop = "end") -> Iterator[Json]:
    for index, (kind, words) in enumerate(story):
        signature = f"c2ln{index}"
        parts: dict[str, list[Json]] = {
            "thought": [{"text": half, "thought": True} for half in _halves(words)],
            "text": [{"text": half} for half in _halves(words)],
            "refusal": [{"text": half} for half in _halves(words)],
            "call": [{"functionCall": {"name": words, "id": f"g_{words}", "args": {"a": 1}}}],
        }
        last = parts[kind][-1]
        # Gemini signs the part that comes out of a thought.
        if index and story[index - 1][0] == "thought" and kind != "thought":
            last["thoughtSignature"] = signature
        for part in parts[kind]:
            yield {"candidates": [{"content": {"parts": [part]}}], "modelVersion": MODEL}
    reason = {"length": "MAX_TOKENS", "filter": "SAFETY"}.get(stop, "STOP")
    reason = "SAFETY" if story[-1][0] == "refusal" else reason
    counts = {
        "promptTokenCount": 20,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 2,
    }
    last = {"content": {"parts": [{"text": ""}]}, "finishReason": reason}
    yield {"candidates": [last], "usageMetadata": counts}


def _openai(story: Story, stop: Stop = "end") -> Iterator[Json]:
    calls = 0
    for index, (kind, words) in enumerate(story):
        function = {"name": words, "arguments": '{"a"'}
        detail = {"type": "reasoning.encrypted", "index": index, "data": f"c2VhbA{index}"}
        deltas: dict[str, list[Json]] = {
            "thought": [
                *({"reasoning_content": half, "content": ""} for half in _halves(words)),
                {"reasoning_details": [detail]},
            ],
            "text": [{"content": half} for half in _halves(words)],
            "refusal": [{"refusal": half} for half in _halves(words)],
            "call": [
                {"tool_calls": [{"index": calls, "id": f"call_{words}", "function": function}]},
                {"tool_calls": [{"index": calls, "function": {"arguments": ":1}"}}]},
            ],
        }
        calls += kind == "call"
        for delta in deltas[kind]:
            yield {"model": MODEL, "choices": [{"delta": delta}]}
    regular = "tool_calls" if calls else "stop"
    reason = {"length": "length", "filter": "content_filter"}.get(stop, regular)
    last: Json = {"delta": {}, "finish_reason": reason}
    if stop == "sequence":
        last["stop_reason"] = SEQUENCE  # as vLLM tells it
    yield {"choices": [last]}
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    yield {"choices": [], "usage": usage}


def _ollama(story: Story, stop: Stop = "end") -> Iterator[Json]:
    for kind, words in story:
        call = {"id": f"o_{words}", "function": {"name": words, "arguments": {"a": 1}}}
        messages: dict[str, list[Json]] = {
            "thought": [{"thinking": half} for half in _halves(words)],
            "text": [{"content": half} for half in _halves(words)],
            "refusal": [{"content": half} for half in _halves(words)],
            "call": [{"tool_calls": [call]}],
        }
        for message in messages[kind]:
            yield {"model": MODEL, "message": message}
    reason = "length" if stop == "length" else "stop"
    counts = {"prompt_eval_count": 20, "eval_count": 7}
    yield {"model": MODEL, "done": True, "done_reason": reason, **counts}


class Told(Protocol):
    """Tells a story in the way of one service."""

    def __call__(self, story: Story, stop: Stop = "end") -> Iterator[Json]:
        """Yield the payloads of the answer."""
        ...


TOLD: dict[str, Told] = {
    "anthropic": _anthropic,
    "responses": _responses,
    "gemini": _gemini,
    "openai": _openai,
    "ollama": _ollama,
}


def _open_anthropic() -> tuple[AnswerAssembly, Told]:
    settings = AnthropicSettings(name="a", model="m-1", api_key="sk-ant-api-k")
    return AnthropicAssembly(settings, sent_chars=9, make_id=_make_id), _anthropic


def _open_responses() -> tuple[AnswerAssembly, Told]:
    settings = ResponsesSettings(name="r", model="m-1", api_key="k")
    return ResponsesAssembly(settings, sent_chars=9, make_id=_make_id), _responses


def _open_gemini() -> tuple[Any, Told]:
    settings = GeminiSettings(name="g", model="m-1")
    return GeminiAssembly(settings, model="m-1", sent_chars=9, make_id=_make_id), _gemini


def _open_openai() -> tuple[AnswerAssembly, Told]:
    quirks = Quirks(reasoning_back="reasoning_details")
    settings = OpenAISettings(
        name="o", model="m-1", base_url="https://model.test/v1", quirks=quirks
    )
    return OpenAIAssembly(settings, sent_chars=9, make_id=_make_id), _openai


def _open_ollama() -> tuple[AnswerAssembly, Told]:
    settings = OllamaSettings(name="l", model="m-1")
    return OllamaAssembly(settings, sent_chars=9, make_id=_make_id), _ollama


# Any: Gemini's reader has a sign of its own for a last event that was cut.
UPSTREAMS: dict[str, Callable[[], tuple[Any, Told]]] = {
    "anthropic": _open_anthropic,
    "responses": _open_responses,
    "gemini": _open_gemini,
    "openai": _open_openai,
    "ollama": _open_ollama,
}
