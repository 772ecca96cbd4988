"""What was said while nobody listened: rooms are read backwards to the last event that is known.

Beside the stream, which says that something is missing.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec
import structlog

from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.rooms import RoomBook
from hermes.channels.matrix.wire import WireEvent, read_event
from hermes.errors import BadRequest

_MOST_PAGES: Final = 50
_log = structlog.get_logger(__name__)

# The events that are of use; reactions, redactions and the like never come.
TYPES: Final = (
    "m.room.message",
    "m.room.encrypted",
    "m.room.member",
    "m.room.name",
    "m.room.topic",
    "m.room.canonical_alias",
    "m.room.encryption",
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
    """Return what came after the event that is the end, oldest first, and whether it was met.

    `start` is where to begin (now, without it), `stop` a place of the stream not to go beyond.
    """
    found: list[msgspec.Raw] = []
    for _ in range(_MOST_PAGES):
        page = await client.messages(room_id, start=start, stop=stop, asked=_ASKED)
        for raw in page.state:
            _hear(book, room_id, raw)
        for raw in page.chunk:
            if _is_end(raw, is_end):
                return found[::-1], True
            found.append(raw)
        if page.end is None or page.end == start or not page.chunk:
            return found[::-1], stop is not None
        start = page.end
    _log.error("matrix.gap_too_large", room=room_id, taken=len(found))
    return found[::-1], False


def is_invitation(event: WireEvent, own: str) -> bool:
    """Return whether with this event the bot was asked into a room, or came in unasked."""
    if event.type != "m.room.member" or event.state_key != own:
        return False
    before = event.unsigned.get("prev_content")
    was = before.get("membership") if isinstance(before, dict) else None
    now = event.content.get("membership")
    return now == "invite" or (now == "join" and was not in {"invite", "join"})


def _is_end(raw: msgspec.Raw, is_end: IsEnd) -> bool:
    try:
        return is_end(read_event(raw))
    except BadRequest:
        return False


def _hear(book: RoomBook, room_id: str, raw: msgspec.Raw) -> None:
    try:
        book.hear(room_id, read_event(raw))
    except BadRequest:
        _log.debug("matrix.state_unreadable", room=room_id)
