"""Parses server-sent events: the name and the JSON of each event. Pure.

Used by the terminal chat for the gateway's stream; keep-alive comments are dropped.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from hermes.errors import StreamTruncated


class ServerEvent(msgspec.Struct, frozen=True):
    """One event of the stream."""

    name: str
    # Any: each event has its own fields.
    data: dict[str, Any]


def read_events(lines: Iterable[bytes]) -> Iterator[ServerEvent]:
    """Yield each complete event; an event cut off at the end is dropped."""
    name, data = "message", b""
    for raw in lines:
        line = raw.rstrip(b"\r\n")
        if not line:
            if data:
                yield ServerEvent(name, _decode(data))
            name, data = "message", b""
            continue
        key, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if key == b"event":
            name = value.decode(errors="replace")
        elif key == b"data":
            data = data + b"\n" + value if data else value


def _decode(data: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise StreamTruncated(
            f"The gateway sent an event that is not a JSON object ({error}). Check that the "
            "address belongs to a Hermes gateway and that `hermes --version` matches `hermes "
            "status`."
        ) from error
