"""Answers for the tests of the Messages wire, and the events of a stream as plain values."""

from typing import Any

import msgspec

from hermes.calls.events import FullAnswer, Piece
from hermes.message.chat import user_text
from hermes.message.parts import Part
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ModelRequest, StopReason
from hermes.routing.plan import Candidate
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.messages import MessagesDialect

USAGE = Usage(100, 20)
STAMP = Stamp("call_1", 1_700_000_000.0)
WISH = WireCall(
    model="auto", request=ModelRequest(model="", messages=(user_text("x" * 400),)), stream=True
)

# Any: JSON of every shape.
Event = tuple[str, dict[str, Any]]


def answered(
    *parts: Part, reason: StopReason = "end", usage: Usage = USAGE, model: str = "m-1"
) -> FullAnswer:
    """Return an answer of these parts."""
    return FullAnswer(
        candidate=Candidate("house", model, "test"), end=CallEnd(parts, reason, usage, model)
    )


def whole(answer: FullAnswer) -> dict[str, Any]:
    """Return the whole answer as parsed JSON."""
    found: dict[str, Any] = msgspec.json.decode(
        MessagesDialect().whole(WISH, answer, stamp=STAMP),
    )
    return found


def events_of(frames: bytes) -> list[Event]:
    """Return the events of some frames, each with its name and its data."""
    found: list[Event] = []
    for one in frames.decode().split("\n\n")[:-1]:
        name, data = one.split("\n")
        found.append(
            (name.removeprefix("event: "), msgspec.json.decode(data.removeprefix("data: ")))
        )
    return found


def streamed(answer: FullAnswer, *pieces: Piece) -> list[Event]:
    """Return all events of an answer that came in pieces."""
    writer = MessagesDialect().stream(WISH, stamp=STAMP)
    frames = b"".join([*map(writer.feed, pieces), writer.end(answer)])
    return events_of(frames)


def shorthand(events: list[Event]) -> list[str]:
    """Return the content of a stream in short: what opens, grows and closes, under which index."""
    told: list[str] = []
    for name, data in events:
        if name == "content_block_start":
            block = data["content_block"]
            told.append(f"{data['index']}+{block['type']}")
        elif name == "content_block_delta":
            (grown,) = (value for key, value in data["delta"].items() if key != "type")
            told.append(f"{data['index']}:{grown}")
        elif name == "content_block_stop":
            told.append(f"{data['index']}-")
    return told


def content_of(events: list[Event]) -> list[dict[str, Any]]:
    """Return the blocks that a client puts together from the events."""
    blocks: dict[int, dict[str, Any]] = {}
    for name, data in events:
        if name == "content_block_start":
            blocks[data["index"]] = dict(data["content_block"])
        elif name == "content_block_delta":
            _grow(blocks[data["index"]], data["delta"])
    for block in blocks.values():
        if block["type"] == "tool_use":
            block["input"] = msgspec.json.decode(block.pop("partial_json", "{}"))
    return list(blocks.values())


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    for key, value in delta.items():
        if key != "type":
            block[key] = block.get(key, "") + value
