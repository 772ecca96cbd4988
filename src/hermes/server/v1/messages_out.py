"""An answer as one whole Messages object, and the words that whole and streamed answers share.

Pure; the streamed form is `messages_stream`'s.
"""

import msgspec

from hermes.calls.events import Answered
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from hermes.message.reply import Usage
from hermes.ports.provider import StopReason
from hermes.server.v1.dialect import Stamp
from hermes.server.v1.messages_thoughts import DIALECT, luggage_of, packed

Json = dict[str, object]

# Which stop sequence was met is not told by every service; an answer that met one just ends.
STOP_REASONS: dict[StopReason, str] = {
    "end": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "refusal": "refusal",
}
_RAW_ARGUMENTS = "raw_arguments"
_encode = msgspec.json.Encoder().encode


def whole_message(answer: Answered, *, stamp: Stamp) -> bytes:
    """Return the whole answer as JSON."""
    end = answer.end
    head = message_head(stamp, model=end.model)
    said = {"content": blocks_of(end.parts), "stop_reason": STOP_REASONS[end.stop_reason]}
    return _encode(head | said | {"usage": usage_of(end.usage)})


def message_head(stamp: Stamp, *, model: str) -> Json:
    """Return a message without content, the way a stream begins."""
    return {
        "id": f"msg_{stamp.id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def usage_of(usage: Usage) -> Json:
    """Return the usage: tokens read from a cache or written to it are no part of `input_tokens`."""
    told: Json = {
        "input_tokens": max(0, usage.tokens_in - usage.cached_in - usage.cache_written),
        "cache_creation_input_tokens": usage.cache_written,
        "cache_read_input_tokens": usage.cached_in,
        "output_tokens": usage.tokens_out,
    }
    if usage.reasoning_out:
        told["output_tokens_details"] = {"thinking_tokens": usage.reasoning_out}
    return told


def blocks_of(parts: tuple[Part, ...]) -> list[Json]:
    """Return the parts as content blocks, in order; empty texts are left out."""
    blocks: list[Json] = []
    place = 0
    for part in parts:
        if isinstance(part, ReasoningPart):
            blocks.append(thinking_block(part, place=place))
            continue
        place += 1
        if isinstance(part, ToolCallPart):
            use = {"id": part.id, "name": part.name, "input": _input(part.arguments)}
            blocks.append({"type": "tool_use", **use})
        elif text := words_of(part):
            blocks.append({"type": "text", "text": text})
    return blocks


def thinking_block(part: ReasoningPart, *, place: int) -> Json:
    """Return a thought as the block that brings it back to its service unchanged."""
    if part.dialect != DIALECT:
        signature = packed([luggage_of(part, place)])
    elif part.sealed is not None:
        return {"type": "redacted_thinking", "data": part.sealed}
    else:
        signature = part.signature or ""
    return {"type": "thinking", "thinking": part.text, "signature": signature}


def words_of(part: Part) -> str:
    """Return a part as text; answers on this wire hold no other media."""
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, ImagePart | AudioPart | FilePart):
        media = part.media
        return f"[{part.__struct_config__.tag}: {media.name or media.url or media.mime}]"
    return ""


def _input(arguments: str) -> msgspec.Raw | Json:
    """Return the arguments as the model wrote them, which must be an object on this wire."""
    try:
        msgspec.json.decode(arguments, type=dict)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {_RAW_ARGUMENTS: arguments} if arguments.strip() else {}
    return msgspec.Raw(arguments.encode())
