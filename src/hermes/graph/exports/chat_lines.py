"""Writes messages in the chat dialect of OpenAI and of TRL, which differ in what they can hold."""

import msgspec

from hermes.graph.blob import Message
from hermes.graph.exports.reading import Spoken, ToolCall, read_message
from hermes.graph.exports.report import Unfit
from hermes.graph.exports.sheet import Line, without_none

_WRITTEN = frozenset({"role", "content", "parts", "tool_calls", "tool_call_id"})


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """What a chat format can hold; `extra` are the keys it takes beside the usual, None for any."""

    developer: str
    pictures: bool
    thoughts: bool
    extra: frozenset[str] | None


OPENAI = Dialect(
    developer="developer", pictures=True, thoughts=False, extra=frozenset({"name", "refusal"})
)
TRL = Dialect(developer="system", pictures=False, thoughts=True, extra=None)


def chat_lines(message: Message, dialect: Dialect) -> list[Line]:
    """Return a message as lines: one, or one for each tool result in it."""
    spoken = read_message(message)
    if spoken.media and not dialect.pictures:
        raise Unfit("unfit", "This format holds text only, and a message has a picture.")
    extra = _extra(message, dialect)
    lines: list[Line] = [
        {"role": "tool", "content": one.text, **extra, "tool_call_id": one.call_id}
        for one in spoken.results
    ]
    if spoken.role == "tool" or (lines and not spoken.shown):
        return lines
    return [*lines, _line(spoken, message, dialect) | extra]


def _line(spoken: Spoken, message: Message, dialect: Dialect) -> Line:
    role = dialect.developer if spoken.role == "developer" else spoken.role
    line: Line = {"role": role}
    if spoken.media:
        line["content"] = without_none(spoken.shown)
    elif spoken.has_text or not spoken.calls:
        line["content"] = spoken.text
    if spoken.thoughts and dialect.thoughts:
        # The text is what templates read; the blocks keep signatures and what is sealed.
        line["reasoning_content"] = spoken.thought
        line["thinking_blocks"] = without_none(spoken.thoughts)
    if message.get("tool_calls"):
        line["tool_calls"] = without_none(message["tool_calls"])
    elif spoken.calls:
        line["tool_calls"] = [_tool_call(call) for call in spoken.calls]
    return line


def _tool_call(call: ToolCall) -> Line:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _extra(message: Message, dialect: Dialect) -> Line:
    found = {key: value for key, value in message.items() if key not in _WRITTEN}
    if dialect.extra is not None:
        found = {key: value for key, value in found.items() if key in dialect.extra}
    kept: Line = without_none(found)
    return kept
