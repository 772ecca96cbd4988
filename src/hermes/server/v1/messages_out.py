"""Writes an answer as one Messages object; also holds what whole and streamed answers share.

Pure; `messages_stream` writes the streamed form.
"""

import msgspec

from hermes.calls.events import FullAnswer
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    continues,
)
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, StopReason
from hermes.server.v1.dialect import Stamp
from hermes.server.v1.messages_thoughts import DIALECT, luggage_of, packed

Json = dict[str, object]
# The parts of an answer that form one thought.
Thought = tuple[ReasoningPart, ...]

_STOP_REASONS: dict[StopReason, str] = {
    "end": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "refusal": "refusal",
}
# The same separator as between the pieces of a streamed summary.
_THOUGHT_BREAK = "\n\n"
_RAW_ARGUMENTS = "raw_arguments"
_encode = msgspec.json.Encoder().encode


def whole_message(answer: FullAnswer, *, stamp: Stamp) -> bytes:
    """Return the whole answer as JSON."""
    end = answer.end
    head = message_head(stamp, model=end.model)
    said = {"content": blocks_of(end.parts), **stop_of(end)}
    return _encode(head | said | {"usage": usage_of(end.usage)})


def stop_of(end: CallEnd) -> Json:
    """Return why the message stopped; not every service reports which stop sequence it met."""
    if end.stop_sequence is not None and end.stop_reason == "end":
        return {"stop_reason": "stop_sequence", "stop_sequence": end.stop_sequence}
    return {"stop_reason": _STOP_REASONS[end.stop_reason], "stop_sequence": None}


def message_head(stamp: Stamp, *, model: str) -> Json:
    """Return a message without content, for the start of a stream."""
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
    """Return the usage; cached tokens, read or written, are not part of `input_tokens`."""
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
    for part in grouped(parts):
        if isinstance(part, tuple):
            blocks.append(thinking_block(part, place=place))
            continue
        place += 1
        if isinstance(part, ToolCallPart):
            use = {"id": part.id, "name": part.name, "input": _input(part.arguments)}
            blocks.append({"type": "tool_use", **use})
        elif text := words_of(part):
            blocks.append({"type": "text", "text": text})
    return blocks


def grouped(parts: tuple[Part, ...]) -> list[Part | Thought]:
    """Return the parts in order, with the parts of one thought joined."""
    found: list[Part | Thought] = []
    for part in parts:
        if not isinstance(part, ReasoningPart):
            found.append(part)
        elif found and isinstance(found[-1], tuple) and continues(part, found[-1][-1]):
            found[-1] = (*found[-1], part)
        else:
            found.append((part,))
    return found


def thinking_block(thought: Thought, *, place: int, shown: str | None = None) -> Json:
    """Return a thought as a block that the client will send back to its service unchanged.

    `shown` is the text that a stream has written into the block, if it differs from the thought's
    own.
    """
    part = thought[0]
    text = words_of_thought(thought)
    if part.dialect != DIALECT:
        # The block's text is the thought's own if it is a single part, sent as it is.
        is_own = len(thought) == 1 and shown in (None, text)
        bags = [luggage_of(one, place, text=None if is_own else one.text) for one in thought]
        signature = packed(bags)
    elif part.sealed is not None:
        return {"type": "redacted_thinking", "data": part.sealed}
    else:
        signature = part.signature or ""
    return {"type": "thinking", "thinking": text, "signature": signature}


def words_of_thought(thought: Thought) -> str:
    """Return the readable text of a thought."""
    return _THOUGHT_BREAK.join(part.text for part in thought)


def words_of(part: Part) -> str:
    """Return a part as text; answers on this wire have no other media."""
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, ImagePart | AudioPart | FilePart):
        media = part.media
        return f"[{part.__struct_config__.tag}: {media.name or media.url or media.mime}]"
    return ""


def _input(arguments: str) -> msgspec.Raw | Json:
    """Return the arguments as the model wrote them; this wire requires an object."""
    try:
        msgspec.json.decode(arguments, type=dict)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {_RAW_ARGUMENTS: arguments} if arguments.strip() else {}
    return msgspec.Raw(arguments.encode())
