"""Converts deliveries to event content, and the homeserver's refusals to delivery errors. Pure."""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hermes.channels.matrix.format import is_plain, render
from hermes.errors import (
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.message.markup.parse import parse
from hermes.message.markup.plain import plain
from hermes.message.parts import AudioPart, ImagePart, Media
from hermes.net.platform_call import PlatformAnswer, failure_of
from hermes.ports.channel import Target

PLATFORM: Final = "matrix"
HTML: Final = "org.matrix.custom.html"
# An event's ids, hashes, signatures and references need some of its 65,536 bytes.
MAX_CONTENT_BYTES: Final = 60_000
_MAX_BODIES_BYTES: Final = 58_000
# Clients without edits show this much of one.
_EDIT_SHOWN_CHARS = 200
_SAID_CHARS = 200
_REVOKED = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"})
_IN_THE_MIDDLE = frozenset({502, 504})
_encode = msgspec.json.Encoder().encode

# Any: JSON on its way out.
Content = dict[str, Any]


class MatrixError(msgspec.Struct):
    """The body of a refusal; with `soft_logout` signing in again helps."""

    errcode: str = ""
    error: str = ""
    retry_after_ms: float | None = None
    soft_logout: bool = False


def text_content(markdown: str) -> Content:
    """Return a text message: plain text, and HTML if it adds something."""
    body, html = _bodies(markdown)
    content: Content = {"msgtype": "m.text", "body": body, "m.mentions": {}}
    if html and len(_encode(body)) + len(_encode(html)) <= _MAX_BODIES_BYTES:
        content |= {"format": HTML, "formatted_body": html}
    return content


def edit_content(markdown: str, event_id: str) -> Content:
    """Return the event that replaces the text of a message."""
    new = text_content(markdown)
    shown = new["body"][:_EDIT_SHOWN_CHARS]
    return {
        "msgtype": "m.text",
        "body": f"* {shown}",
        "m.mentions": {},
        "m.new_content": new,
        "m.relates_to": {"rel_type": "m.replace", "event_id": event_id},
    }


def notice_content(text: str) -> Content:
    """Return a notice, which other bots do not answer."""
    return {"msgtype": "m.notice", "body": text, "m.mentions": {}}


def media_content(part: object, media: Media, *, uri: str, size: int) -> Content:
    """Return an uploaded attachment as content."""
    name = clean(media.name or "file")[:_SAID_CHARS]
    return {
        "msgtype": kind_of(part, media),
        "body": name,
        "filename": name,
        "url": uri,
        "info": {"mimetype": media.mime, "size": size},
        "m.mentions": {},
    }


def kind_of(part: object, media: Media) -> str:
    """Return the message type of an attachment."""
    if isinstance(part, ImagePart):
        return "m.image"
    if isinstance(part, AudioPart):
        return "m.audio"
    return "m.video" if media.mime.startswith("video/") else "m.file"


def with_relation(content: Content, target: Target) -> Content:
    """Return the content with the target's thread and the answered message."""
    reply = {"m.in_reply_to": {"event_id": target.reply_to}} if target.reply_to else {}
    if target.thread_id:
        relation: Content = {
            "rel_type": "m.thread",
            "event_id": target.thread_id,
            "is_falling_back": not reply,
            **(reply or {"m.in_reply_to": {"event_id": target.thread_id}}),
        }
        return {**content, "m.relates_to": relation}
    return {**content, "m.relates_to": reply} if reply else content


def size_of(markdown: str) -> int:
    """Return the bytes of both bodies of a text as they are sent."""
    return sum(len(_encode(body)) - 2 for body in _bodies(markdown))


def check_size(content: Content) -> None:
    """Raise `DeliveryRejected` if it is too large for any homeserver."""
    size = len(_encode(content))
    if size > MAX_CONTENT_BYTES:
        raise DeliveryRejected(
            f"matrix: a message of {size} bytes is too large, at most {MAX_CONTENT_BYTES} fit into "
            "an event; shorten it",
            FailureClass.REJECTED,
        )


def clean(text: str) -> str:
    """Return a text that is valid in an event: whole characters, no NUL."""
    whole = text if text.isascii() else text.encode("utf-8", "replace").decode()
    return whole.replace("\0", "\ufffd")


def refusal_of(answer: PlatformAnswer) -> MatrixError:
    """Return a homeserver's description of its refusal."""
    try:
        return msgspec.json.decode(answer.body, type=MatrixError)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return MatrixError()


def is_revoked(answer: PlatformAnswer) -> bool:
    """Return whether the credential is no longer valid."""
    return answer.status in {401, 403} and refusal_of(answer).errcode in _REVOKED


def failure(answer: PlatformAnswer) -> DeliveryError | None:
    """Return the delivery error for an answer; None for a success."""
    if answer.is_ok:
        return None
    told = refusal_of(answer)
    # Only the code: the text may repeat what was sent.
    code = told.errcode[:_SAID_CHARS] if told.errcode.startswith("M_") else ""
    if code == "M_LIMIT_EXCEEDED" or answer.status == 429:
        return NotDelivered(
            f"matrix: the homeserver's rate limit is reached ({answer.status} {code}); it will be "
            "sent again later",
            FailureClass.RATE_LIMITED,
            retry_after=_wait(answer, told),
        )
    if answer.status in _IN_THE_MIDDLE and not code:
        # A proxy answered for the homeserver, which may have accepted the message.
        return DeliveryUnknown(
            f"matrix: a proxy answered {answer.status} for the homeserver",
            FailureClass.NETWORK_TIMEOUT,
        )
    if is_revoked(answer):
        return DeliveryRejected(
            f"matrix: the homeserver no longer accepts the credential ({code}); set a new "
            "platforms.matrix.access_token, and `hermes reload`",
            FailureClass.UNAUTHORIZED,
            credential=True,
        )
    if code in {"M_FORBIDDEN", "M_NOT_FOUND", "M_GUEST_ACCESS_FORBIDDEN"}:
        return DeliveryRejected(
            f"matrix: the bot may not write there ({answer.status} {code}): it is not in the room, "
            "or the room does not allow it; invite it again and replay the dead letter",
            FailureClass.INVALID_RECIPIENT,
        )
    return failure_of(answer, platform=PLATFORM, said=code)


def _bodies(markdown: str) -> tuple[str, str]:
    """Return a text as plain text, and as HTML if that adds something."""
    text = clean(markdown)
    document = parse(text)
    # If nothing is visible, such as for an empty list, use the source text.
    return clean(plain(document)) or text, "" if is_plain(document) else clean(render(document))


def _wait(answer: PlatformAnswer, told: MatrixError) -> float | None:
    """Return the seconds to wait; older homeservers give milliseconds in the body."""
    if answer.retry_after is not None:
        return answer.retry_after
    millis = told.retry_after_ms
    return millis / 1000 if millis is not None and math.isfinite(millis) and millis >= 0 else None


def read_object(answer: PlatformAnswer) -> Mapping[str, Any]:
    """Return a successful answer as an object; raise `DeliveryUnknown` if it is not one, as from a
    proxy.
    """
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DeliveryUnknown(
            f"matrix: answered {answer.status} with something that is not a JSON object; check "
            "platforms.matrix.homeserver",
            FailureClass.SERVICE_UNAVAILABLE,
        ) from error
