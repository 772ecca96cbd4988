"""The shapes of a homeserver's answers, and their parsing; one bad event spoils no other. Pure.

Events stay raw until each is processed: a stranger's event must not block the stream.
"""

import re
from typing import Any, TypeVar

import msgspec
import structlog

from hermes.errors import BadRequest
from hermes.message.pieces import pieces

MAX_DEPTH = 64
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
# The API allows 65,536 bytes, which a homeserver may escape.
MAX_EVENT_BYTES = 262_144
# What is neither a mark nor escaped is taken in pieces: other threads run between two tokens.
_TOKENS = re.compile(rb'[^"\\\[\]{}]{1,65536}+|\\.?|["\[\]{}]', re.DOTALL)
_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u[dD](?:[89abAB][0-9a-fA-F]{2}(\\u[dD][c-fC-F][0-9a-fA-F]{2})?|[c-fC-F][0-9a-fA-F]{2})"
)

Shape = TypeVar("Shape")
_log = structlog.get_logger(__name__)


class Timeline(msgspec.Struct):
    """New events in a room; `limited` if older events were left out."""

    events: list[msgspec.Raw] = []
    limited: bool = False
    prev_batch: str | None = None


class Events(msgspec.Struct):
    """A list of events."""

    events: list[msgspec.Raw] = []


class Summary(
    msgspec.Struct,
    rename={
        "heroes": "m.heroes",
        "joined": "m.joined_member_count",
        "invited": "m.invited_member_count",
    },
):
    """The members of a room, if they have changed."""

    heroes: list[str] | None = None
    joined: int | None = None
    invited: int | None = None


class JoinedRoom(msgspec.Struct):
    """A room that the bot is in."""

    timeline: Timeline = msgspec.field(default_factory=Timeline)
    state: Events = msgspec.field(default_factory=Events)
    summary: Summary = msgspec.field(default_factory=Summary)


class InvitedRoom(msgspec.Struct):
    """A room that the bot is invited to."""

    invite_state: Events = msgspec.field(default_factory=Events)


class RoomsPart(msgspec.Struct):
    """What happened in rooms."""

    join: dict[str, JoinedRoom] = {}
    invite: dict[str, InvitedRoom] = {}
    leave: dict[str, msgspec.Raw] = {}


class DeviceLists(msgspec.Struct):
    """Whose devices have changed, and who shares no room with the bot any more."""

    changed: list[str] = []
    left: list[str] = []


class Sync(msgspec.Struct):
    """One answer of /sync."""

    next_batch: str
    rooms: RoomsPart = msgspec.field(default_factory=RoomsPart)
    account_data: Events = msgspec.field(default_factory=Events)
    to_device: Events = msgspec.field(default_factory=Events)
    device_lists: DeviceLists = msgspec.field(default_factory=DeviceLists)
    device_one_time_keys_count: dict[str, int] | None = None
    device_unused_fallback_key_types: list[str] | None = None


class Page(msgspec.Struct):
    """One answer of /messages, newest first; without `end` there is no more."""

    chunk: list[msgspec.Raw] = []
    state: list[msgspec.Raw] = []
    end: str | None = None


class WireEvent(msgspec.Struct, kw_only=True):
    """An event of a room; its sender may put anything into the content."""

    type: str
    sender: str = ""
    event_id: str = ""
    state_key: str | None = None
    origin_server_ts: float = 0.0
    # Any: JSON of strangers, checked field by field.
    content: dict[str, Any] = {}
    unsigned: dict[str, Any] = {}
    redacts: Any = None


def read_sync(body: bytes) -> Sync:
    """Return an answer of /sync; raise `BadRequest`."""
    return _read(body, Sync, what="/sync")


def read_page(body: bytes) -> Page:
    """Return an answer of /messages; raises `BadRequest`."""
    return _read(body, Page, what="/messages")


def read_event(raw: bytes | msgspec.Raw) -> WireEvent:
    """Return one event; raise `BadRequest` if it is not one."""
    if len(bytes(raw)) > MAX_EVENT_BYTES:
        raise BadRequest(
            f"matrix: an event has {len(bytes(raw))} bytes; the most are {MAX_EVENT_BYTES}"
        )
    return _read(bytes(raw), WireEvent, what="an event")


def readable(raw: msgspec.Raw) -> WireEvent | None:
    """Return one event, or None (and log it) if it is none."""
    try:
        return read_event(raw)
    except BadRequest as error:
        _log.info("matrix.event_unreadable", problem=str(error)[:200])
        return None


def read_answer(body: bytes, shape: type[Shape]) -> Shape:
    """Return an answer of any other call; raises `BadRequest`."""
    return _read(body, shape, what="the answer")


def _read(body: bytes, shape: type[Shape], *, what: str) -> Shape:
    try:
        return msgspec.json.decode(body, type=shape)
    except _BROKEN:
        try:
            return msgspec.json.decode(_mended(body), type=shape)
        except _BROKEN as error:
            raise BadRequest(
                f"matrix: {what} does not have the shape of the API: {error}"
            ) from error


def _mended(body: bytes) -> bytes:
    """Return valid JSON: nothing nested too deep, no lone surrogates."""
    text = body.decode("utf-8", "replace")
    whole = "".join(_PAIR.sub(_paired, piece) for piece in pieces(text, marks=',"'))
    return _flattened(whole.encode())


def _paired(found: re.Match[str]) -> str:
    return found[0] if found[2] else f"{found[1]}\\ufffd"


def _flattened(body: bytes) -> bytes:
    """Return the JSON with null in place of what is nested too deep."""
    kept: list[bytes] = []
    depth = done = 0
    is_string = False
    for token in _TOKENS.finditer(body):
        mark = token[0]
        if mark == b'"':
            is_string = not is_string
        elif is_string or len(mark) > 1:
            continue
        elif mark in b"[{":
            depth += 1
            if depth == MAX_DEPTH:
                kept.append(body[done : token.start()] + b"null")
        elif mark in b"]}":
            depth -= 1
            if depth == MAX_DEPTH - 1:
                done = token.end()
    kept.append(body[done:] if depth < MAX_DEPTH else b"")
    return b"".join(kept)
