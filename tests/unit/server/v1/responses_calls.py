"""Requests of the Responses wire as tests write them, and what is read from an answer."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hermes.calls.events import FullAnswer
from hermes.message.parts import Part
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, StopReason
from hermes.routing.plan import Candidate
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.responses import ResponsesDialect

STAMP = Stamp("v1", 1_700_000_000.9)
USAGE = Usage(tokens_in=10, tokens_out=5, cached_in=4, reasoning_out=2, cache_written=3)
WEATHER: Any = {
    "type": "function",
    "name": "weather",
    "description": "The weather.",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
}
PATCH: Any = {"type": "custom", "name": "apply_patch", "description": "Changes files."}


def read(given: Any = "Hello", headers: dict[str, str] | None = None, **more: Any) -> WireCall:
    body = msgspec.json.encode({"model": "auto", "input": given, **more})
    return ResponsesDialect().read(body, headers or {})


def answered(*parts: Part, stop: StopReason = "end") -> FullAnswer:
    candidate = Candidate("house", "m-1", "named")
    return FullAnswer(candidate=candidate, end=CallEnd(parts, stop, USAGE, "m-1"))


def whole(call: WireCall, *parts: Part, stop: StopReason = "end") -> Any:
    written = ResponsesDialect().whole(call, answered(*parts, stop=stop), stamp=STAMP)
    return msgspec.json.decode(written)


def events(frames: Sequence[bytes]) -> list[Any]:
    """Return the events of a stream; their names and numbers are checked on the way."""
    assert b"\r" not in b"".join(frames)
    found: list[Any] = []
    for frame in b"".join(frames).decode().removesuffix("\n\n").split("\n\n"):
        name, data = frame.split("\n")
        event = msgspec.json.decode(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        assert event.pop("sequence_number") == len(found)
        found.append(event)
    return found
