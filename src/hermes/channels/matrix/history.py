"""Loads messages that were missed: reads rooms backwards to the last known event.

Used by the stream, which reports gaps.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
import structlog

from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.rooms import RoomBook
from hermes.channels.matrix.wire import WireEvent, readable

_MOST_PAGES: Final = 50
_log = structlog.get_logger(__name__)

# The useful state of a room, and all useful event types; the server leaves out the others.
STATE_TYPES: Final = (
    "m.room.member",
    "m.room.name",
    "m.room.topic",
    "m.room.canonical_alias",
    "m.room.encryption",
)
TYPES: Final = (
    "m.room.message",
    "m.room.encrypted",
    "m.reaction",
    "m.room.redaction",
    *STATE_TYPES,
)
_ASKED: Final[dict[str, Any]] = {
    "types": list(TYPES),
    "lazy_load_members": True,
    "include_redundant_members": True,
}
IsEnd = Callable[[WireEvent], bool]


async def read_back(
    client: MatrixClient,
    book: RoomBook,
    room_id: str,
    *,
    is_end: IsEnd,
    start: str | None = None,
    stop: str | None = None,
) -> tuple[list[msgspec.Raw], bool]:
    """Return the events after the last known one, oldest first, and whether that one was found.

    `start` is where to begin (default: now), `stop` a position of the stream not to go beyond.
    """
    found: list[msgspec.Raw] = []
    for _ in range(_MOST_PAGES):
        page = await client.messages(room_id, start=start, stop=stop, asked=_ASKED)
        for state in map(readable, page.state):
            if state is not None:
                book.hear(room_id, state)
        for raw in page.chunk:
            event = readable(raw)
            if event is not None and is_end(event):
                return found[::-1], True
            found.append(raw)
        if page.end is None or page.end == start or not page.chunk:
            return found[::-1], stop is not None
        start = page.end
    _log.error("matrix.gap_too_large", room=room_id, taken=len(found))
    return found[::-1], False


def is_invitation(event: WireEvent, own: str) -> bool:
    """Return whether this event invited the bot into a room, or joined it without an invitation."""
    if event.type != "m.room.member" or event.state_key != own:
        return False
    before = event.unsigned.get("prev_content")
    was = before.get("membership") if isinstance(before, dict) else None
    now = event.content.get("membership")
    return now == "invite" or (now == "join" and was not in {"invite", "join"})
