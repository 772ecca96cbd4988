"""Reads the turns of a ShareGPT conversation as messages, tool calls and their results included.

A tool call stands in the text between `<tool_call>` and `</tool_call>`, or is a turn from
`function_call`. Its arguments stay the text that the model wrote.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from hermes.errors import BadRequest
from hermes.graph.blob import Message
from hermes.graph.imports.source_file import decoded

_ROLES = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "function_call": "assistant",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
}
_CALL, _CALL_END = "<tool_call>", "</tool_call>"
_RESULT, _RESULT_END = "<tool_response>", "</tool_response>"


class _CallText(msgspec.Struct):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


def messages_of_turns(turns: list[Any]) -> list[Message]:  # Any: JSON
    """Return turns as messages; raises BadRequest that names the turn."""
    reader, found = _Reader(), list[Message]()
    for number, turn in enumerate(turns):
        try:
            found.append(reader.message(turn))
        except BadRequest as problem:
            raise BadRequest(f"turn {number}: {problem}") from problem
    return found


class _Reader:
    """Numbers the tool calls, and gives each result to the oldest call without one."""

    def __init__(self) -> None:
        self._made = 0
        self._open: list[str] = []

    def message(self, turn: Any) -> Message:  # Any: JSON
        if not isinstance(turn, dict) or not isinstance(turn.get("value"), str):
            raise BadRequest("A turn is an object with `from` and a text `value`.")
        sender, text = turn.get("from"), turn["value"]
        role = _ROLES.get(sender) if isinstance(sender, str) else None
        if role is None:
            raise BadRequest(f"`from` is one of {', '.join(_ROLES)}; this one is {sender!r}.")
        if role == "tool":
            return self._result(text)
        weight = {"weight": turn["weight"]} if "weight" in turn else {}
        if sender == "function_call":
            return {"role": role, "tool_calls": [self._call(text)], **weight}
        if role == "assistant" and _CALL in text:
            return self._answer(text) | weight
        return {"role": role, "content": text, **weight}

    def _answer(self, text: str) -> Message:
        said, *rest = text.split(_CALL)
        calls = list(self._calls(rest))
        content = {"content": said.removesuffix("\n")} if said.strip() else {}
        return {"role": "assistant", **content, "tool_calls": calls}

    def _calls(self, rest: list[str]) -> Iterator[dict[str, Any]]:
        for part in rest:
            inside, end, after = part.partition(_CALL_END)
            if not end or after.strip():
                raise BadRequest(f"{_CALL} has no {_CALL_END}, or text comes after it.")
            yield self._call(inside)

    def _call(self, text: str) -> dict[str, Any]:
        call = decoded(text.strip(), "The tool call", kind=_CallText)
        self._made += 1
        call_id = f"call_{self._made}"
        self._open.append(call_id)
        arguments = bytes(call.arguments).decode()
        function = {"name": call.name, "arguments": arguments}
        return {"id": call_id, "type": "function", "function": function}

    def _result(self, text: str) -> Message:
        if not self._open:
            raise BadRequest("The result of a tool comes before any call.")
        inside = text.strip()
        if inside.startswith(_RESULT) and inside.endswith(_RESULT_END):
            inside = inside[len(_RESULT) : -len(_RESULT_END)].strip("\n")
        return {"role": "tool", "tool_call_id": self._open.pop(0), "content": inside}
