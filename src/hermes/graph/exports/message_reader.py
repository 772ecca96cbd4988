"""Parses a message into text, thoughts, tool calls and results, whatever dialect it is in.

The formats write from this. Argument strings are passed on as the model wrote them; what no format
could hold is refused here.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from hermes.graph.blob import Message
from hermes.graph.exports.report import UnfitRow

_ROLES = {
    "system": "system", "developer": "developer", "user": "user", "human": "user",
    "assistant": "assistant", "model": "assistant", "tool": "tool",
}  # fmt: skip


class ToolCall(msgspec.Struct, frozen=True):
    """A requested tool call; `arguments` is the text that the model wrote."""

    id: str
    name: str
    arguments: str


class ToolResult(msgspec.Struct, frozen=True):
    """The result of a tool call."""

    call_id: str
    text: str


class ReadMessage(msgspec.Struct):
    """A parsed message; `shown` are its texts and images in order, `media` is true if it has
    images."""

    role: str
    has_text: bool = False
    media: bool = False
    shown: list[Message] = []
    thoughts: list[Message] = []
    calls: list[ToolCall] = []
    results: list[ToolResult] = []

    @property
    def text(self) -> str:
        """The complete text."""
        return "".join(part["text"] for part in self.shown if part["type"] == "text")

    @property
    def thought(self) -> str:
        """The thoughts, as far as they are readable."""
        found = (part.get("thinking", part.get("text")) for part in self.thoughts)
        return "\n".join(text for text in found if isinstance(text, str) and text)


def read_message(message: Message) -> ReadMessage:
    """Parse a message; raises UnfitRow if it contains something that no format can hold."""
    role = _ROLES.get(message["role"])
    if role is None:
        raise UnfitRow("unfit", f"No format knows the role {message['role']!r}.")
    spoken = ReadMessage(role)
    for key in ("content", "parts"):
        for part in _parts(message.get(key)):
            reader = _READERS.get(part.get("type", ""))
            if reader is None:
                raise UnfitRow(
                    "unfit", f"No format can hold a part of the type {part.get('type')!r}."
                )
            reader(spoken, part)
    for call in message.get("tool_calls") or ():
        spoken.calls.append(_call(call.get("id"), call.get("function") or {}))
    if message["role"] == "tool" and not spoken.results:
        spoken.results.append(ToolResult(_text(message.get("tool_call_id")), spoken.text))
    elif message["role"] == "tool" and spoken.shown:
        # A note after a result: the model read it as the end of the result.
        last = spoken.results.pop()
        spoken.results.append(ToolResult(last.call_id, last.text + spoken.text))
        spoken.shown, spoken.has_text = [], False
    return spoken


def plain_json(value: object) -> str:
    """Return a JSON value as text."""
    return msgspec.json.encode(value).decode()


def _parts(value: Any) -> list[Message]:  # Any: a message may contain anything there
    if value is None:
        return []
    if isinstance(value, str):
        return [{"type": "text", "text": value}]
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return value
    raise UnfitRow("unfit", f"Content is a text or a list of parts, found {type(value).__name__}.")


def _text(value: Any) -> str:  # Any: as above
    if isinstance(value, str):
        return value
    raise UnfitRow("unfit", f"A text was expected in a message, found {type(value).__name__}.")


def _read_text(spoken: ReadMessage, part: Message) -> None:
    spoken.has_text = True
    spoken.shown.append({"type": "text", "text": _text(part.get("text"))})


def _read_picture(spoken: ReadMessage, part: Message) -> None:
    spoken.media = True
    spoken.shown.append(part)


def _read_image(spoken: ReadMessage, part: Message) -> None:
    url = (part.get("media") or {}).get("url")
    if not isinstance(url, str):
        raise UnfitRow(
            "unfit", "No format can hold a picture without an address; its file is not exported."
        )
    _read_picture(spoken, {"type": "image_url", "image_url": {"url": url}})


def _read_thought(spoken: ReadMessage, part: Message) -> None:
    spoken.thoughts.append(part)


def _read_call(spoken: ReadMessage, part: Message) -> None:
    spoken.calls.append(_call(part.get("id"), part))


def _call(call_id: object, told: Message) -> ToolCall:
    arguments = told.get("arguments", told.get("input", {}))
    # Only values that were never text are converted to text here.
    text = arguments if isinstance(arguments, str) else plain_json(arguments)
    return ToolCall(_text(call_id), _text(told.get("name")), text)


def _read_result(spoken: ReadMessage, part: Message) -> None:
    inside = ReadMessage("tool")
    for one in _parts(part.get("content", part.get("text"))):
        if one.get("type") != "text":
            raise UnfitRow("unfit", f"No format can hold a {one.get('type')!r} in a tool's result.")
        _read_text(inside, one)
    call_id = part.get("tool_use_id", part.get("call_id"))
    spoken.results.append(ToolResult(_text(call_id), inside.text))


_READERS: dict[str, Callable[[ReadMessage, Message], None]] = {
    "text": _read_text,
    "note": _read_text,
    "image_url": _read_picture,
    "image": _read_image,
    "thinking": _read_thought,
    "redacted_thinking": _read_thought,
    "reasoning": _read_thought,
    "tool_use": _read_call,
    "tool_call": _read_call,
    "tool_result": _read_result,
}
