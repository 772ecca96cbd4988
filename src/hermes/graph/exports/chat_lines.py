"""Writes messages in the chat formats of OpenAI and of TRL, which differ in what they can hold."""

from typing import Any

import msgspec

from hermes.errors import HermesError
from hermes.graph.blob import Message, canonical_value
from hermes.graph.exports.message_reader import ReadMessage, ToolCall, read_message
from hermes.graph.exports.report import UnfitRow
from hermes.graph.exports.sheet import Line, without_none

_WRITTEN = frozenset({"role", "content", "parts", "tool_calls", "tool_call_id"})


class ChatFormat(msgspec.Struct, frozen=True, kw_only=True):
    """What a chat format can hold; `extra` are the additional keys it takes, None for any.

    `objects` is true if arguments are JSON objects there, not the strings that models write.
    """

    developer: str
    pictures: bool
    thoughts: bool
    objects: bool
    extra: frozenset[str] | None


OPENAI = ChatFormat(
    developer="developer",
    pictures=True,
    thoughts=False,
    objects=False,
    extra=frozenset({"name", "refusal"}),
)
TRL = ChatFormat(developer="system", pictures=False, thoughts=True, objects=True, extra=None)


def chat_lines(message: Message, dialect: ChatFormat) -> list[Line]:
    """Return a message as lines: one, or one for each tool result in it."""
    spoken = read_message(message)
    if spoken.media and not dialect.pictures:
        raise UnfitRow("unfit", "This format holds text only, but a message has a picture.")
    extra = _extra(message, dialect)
    lines: list[Line] = [
        {"role": "tool", "content": one.text, **extra, "tool_call_id": one.call_id}
        for one in spoken.results
    ]
    if spoken.role == "tool" or (lines and not spoken.shown):
        return lines
    return [*lines, _line(spoken, message, dialect) | extra]


def _line(spoken: ReadMessage, message: Message, dialect: ChatFormat) -> Line:
    role = dialect.developer if spoken.role == "developer" else spoken.role
    line: Line = {"role": role}
    if spoken.media:
        line["content"] = without_none(spoken.shown)
    elif spoken.has_text or not spoken.calls:
        line["content"] = spoken.text
    if spoken.thoughts and dialect.thoughts:
        # Templates read the text; the blocks keep signatures and encrypted parts.
        line["reasoning_content"] = spoken.thought
        line["thinking_blocks"] = without_none(spoken.thoughts)
    if spoken.calls:
        line["tool_calls"] = _tool_calls(spoken, message, dialect)
    return line


def _tool_calls(spoken: ReadMessage, message: Message, dialect: ChatFormat) -> list[Line]:
    if message.get("tool_calls"):
        calls: list[Line] = without_none(message["tool_calls"])
    else:
        calls = [_tool_call(call) for call in spoken.calls]
    if not dialect.objects:
        return calls
    return [
        call | {"function": call["function"] | {"arguments": _object(told)}}
        for call, told in zip(calls, spoken.calls[-len(calls) :], strict=True)
    ]


def _tool_call(call: ToolCall) -> Line:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _object(call: ToolCall) -> dict[str, Any]:  # Any: JSON
    """Return arguments as an object: most templates fail on a string, or quote it twice."""
    try:
        found = msgspec.json.decode(call.arguments or "{}")
        canonical_value(found)
    except (msgspec.DecodeError, HermesError) as problem:
        raise UnfitRow("unfit", _no_object(call, str(problem))) from problem
    if not isinstance(found, dict):
        raise UnfitRow("unfit", _no_object(call, f"they are of type {type(found).__name__}"))
    return found


def _no_object(call: ToolCall, why: str) -> str:
    return (
        f"TRL takes arguments as a JSON object, but those of tool call {call.id!r} are not one: "
        f"{why}."
    )


def _extra(message: Message, dialect: ChatFormat) -> Line:
    found = {key: value for key, value in message.items() if key not in _WRITTEN}
    if dialect.extra is not None:
        found = {key: value for key, value in found.items() if key in dialect.extra}
    kept: Line = without_none(found)
    return kept
