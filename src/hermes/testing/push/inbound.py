"""Converts Pigeon's events to ours. Pure."""

from typing import Literal

import msgspec

from hermes.errors import BadRequest
from hermes.message.event import MessageEvent
from hermes.message.parts import ImagePart, Media, Part, TextPart
from hermes.message.source import ChatType, Source


class WireChat(msgspec.Struct, frozen=True):
    id: str
    type: ChatType = "dm"


class WireUser(msgspec.Struct, frozen=True):
    id: str
    name: str | None = None


class WireEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One webhook body; types that are not messages are acknowledged and ignored."""

    event_id: str
    type: Literal["message"] | str
    chat: WireChat | None = None
    user: WireUser | None = None
    text: str = ""
    pictures: tuple[str, ...] = ()
    album: str | None = None
    sent_at: float = 0.0


def to_event(wire: WireEvent, *, platform: str, account: str, raw: bytes) -> MessageEvent | None:
    """Return the message in an event, or None if there is none."""
    if wire.type != "message":
        return None
    if wire.chat is None or wire.user is None or not (wire.text.strip() or wire.pictures):
        raise BadRequest(
            f"event {wire.event_id[:80]!r} lacks chat, user, or text and pictures; a message has them"
        )
    source = Source(
        platform=platform,
        chat_id=wire.chat.id,
        chat_type=wire.chat.type,
        user_id=wire.user.id,
        user_name=wire.user.name,
    )
    return MessageEvent(
        account=account,
        route="webhook",
        external_id=wire.event_id,
        source=source,
        parts=_parts(wire),
        at=wire.sent_at,
        type="image" if wire.pictures else "text",
        album=wire.album,
        raw=msgspec.Raw(raw),
    )


def _parts(wire: WireEvent) -> tuple[Part, ...]:
    """Return the caption, if there is one, and the pictures by their addresses."""
    said: tuple[Part, ...] = (TextPart(wire.text),) if wire.text.strip() else ()
    return (*said, *(ImagePart(Media("image/png", url=url)) for url in wire.pictures))
