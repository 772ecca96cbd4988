"""Converts a message to text for people, whatever dialect it is in.

For drawings and comparisons. It refuses nothing and never raises, because an odd message is the one
that a reader most needs to see. The printer handles control codes.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

CUT = "…"
_SPOKEN = frozenset({"role", "content", "parts", "tool_calls", "tool_call_id"})
_THOUGHTS = frozenset({"thinking", "reasoning", "redacted_thinking"})
_CALLS = frozenset({"tool_use", "tool_call", "function"})


def lines_of(message: Mapping[str, Any]) -> list[str]:
    """Return the text of a message, line by line."""
    found = [*_said(message.get("content")), *_said(message.get("parts"))]
    found.extend(_call(call) for call in _listed(message.get("tool_calls")))
    others = sorted(key for key in message if key not in _SPOKEN)
    return [*found, *(f"{key}: {_json(message[key])}" for key in others)]


def first_line(message: Mapping[str, Any], *, width: int, mask: Callable[[str], str] = str) -> str:
    """Return the beginning of a message, in one line of at most `width` characters."""
    lines = [" ".join(line.split()) for line in lines_of(message)]
    told = [line for line in lines if line]
    return shortened(mask(told[0]) if told else "", width=width, has_more=len(told) > 1)


def shortened(text: str, *, width: int, has_more: bool = False) -> str:
    """Return one line, with a mark where something was left out."""
    if len(text) > width:
        return text[: width - 1].rstrip() + CUT
    return f"{text[: width - 2].rstrip()} {CUT}" if has_more else text


def _said(value: Any) -> Iterator[str]:  # Any: a message may contain anything there
    if isinstance(value, str):
        yield from value.splitlines()
    elif isinstance(value, list):
        for part in value:
            yield from _part(part)
    elif value is not None:
        yield _json(value)


def _part(part: Any) -> Iterator[str]:  # Any: as above
    if not isinstance(part, dict):
        yield from _said(part)
        return
    text, kind = part.get("text"), part.get("type")
    if not isinstance(kind, str):
        kind = ""
    if kind in _CALLS:
        yield _call(part)
    elif kind == "tool_result":
        inside = list(_said(part.get("content", text)))
        yield from (f"<- {line}" for line in inside or [""])
    elif kind in _THOUGHTS:
        thought = part.get("thinking", text)
        lines = thought.splitlines() if isinstance(thought, str) else ["sealed"]
        yield from (f"(thought) {line}" for line in lines)
    elif isinstance(text, str):
        yield from text.splitlines()
    else:
        yield f"[{kind}]" if kind else _json(part)


def _call(told: Any) -> str:  # Any: as above
    if not isinstance(told, dict):
        return f"-> {_json(told)}"
    inside = told.get("function")
    call = inside if isinstance(inside, dict) else told
    arguments = call.get("arguments", call.get("input", ""))
    text = arguments if isinstance(arguments, str) else _json(arguments)
    return f"-> {call.get('name', '')}({' '.join(text.split())})"


def _listed(value: Any) -> list[Any]:  # Any: as above
    return value if isinstance(value, list) else []


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
