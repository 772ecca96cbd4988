"""Converts Pigeon's webhooks to events: checks the signature over the raw bytes, then the shape.
Pure.
"""

import hashlib
import hmac
import math
from collections import OrderedDict
from collections.abc import Mapping
from typing import Literal

import msgspec

from hermes.errors import BadRequest, Unauthenticated
from hermes.message.event import MessageEvent
from hermes.message.parts import ImagePart, Media, Part, TextPart
from hermes.message.source import ChatType, Source

MAX_AGE_S = 300.0
_MOST_REMEMBERED = 100_000


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


class SignatureCheck:
    """Accepts each signed call once, within five minutes of its signing."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._seen: OrderedDict[str, float] = OrderedDict()

    def check(self, headers: Mapping[str, str], body: bytes, *, now: float) -> None:
        """Raise `Unauthenticated` unless the call is authentic, recent and new."""
        timestamp = headers.get("x-pigeon-timestamp", "")
        shown = headers.get("x-pigeon-signature", "")
        mac = hmac.new(self._secret, timestamp.encode() + b"." + body, hashlib.sha256)
        if not hmac.compare_digest(shown.encode(), f"v1={mac.hexdigest()}".encode()):
            raise Unauthenticated(
                "X-Pigeon-Signature does not match the body: check that signing_secret is the "
                "platform's own"
            )
        at = _seconds(timestamp)
        if not abs(now - at) <= MAX_AGE_S:
            raise Unauthenticated(
                f"X-Pigeon-Timestamp is {now - at:.0f} s away, at most {MAX_AGE_S:.0f} s are "
                "allowed: check both clocks"
            )
        self._remember(shown, at, now=now)

    def _remember(self, shown: str, at: float, *, now: float) -> None:
        if shown in self._seen:
            raise Unauthenticated(
                "X-Pigeon-Signature was already used: every call needs its own signature"
            )
        while self._seen:
            _, oldest = next(iter(self._seen.items()))
            if now - oldest <= MAX_AGE_S and len(self._seen) < _MOST_REMEMBERED:
                break
            self._seen.popitem(last=False)
        self._seen[shown] = at


def _seconds(timestamp: str) -> float:
    try:
        at = float(timestamp)
    except ValueError:
        at = math.nan
    if not math.isfinite(at):
        raise Unauthenticated(
            f"X-Pigeon-Timestamp is {timestamp[:40]!r}, expected seconds since the epoch"
        )
    return at


def read_event(body: bytes) -> WireEvent:
    """Return the webhook's event."""
    try:
        return msgspec.json.decode(body, type=WireEvent)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"the webhook's body is not a Pigeon event: {error}") from error


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
