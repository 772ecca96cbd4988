"""Converts replies to Pigeon's calls, and its answers to delivery errors. Pure."""

import msgspec

from hermes.errors import (
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
)
from hermes.message.parts import AudioPart, FilePart, ImagePart, Part, TextPart
from hermes.ports.channel import Delivery, Receipt


class Answer(msgspec.Struct, frozen=True):
    """An answer: a status, the body, and when to retry."""

    status: int
    body: bytes
    retry_after: float | None = None


class _Sent(msgspec.Struct, frozen=True):
    message_id: str


class _Entry(msgspec.Struct, frozen=True):
    message_id: str
    ref: str | None = None


class _History(msgspec.Struct, frozen=True):
    messages: tuple[_Entry, ...]


_REJECTIONS = {
    401: FailureClass.UNAUTHORIZED,
    403: FailureClass.UNAUTHORIZED,
    404: FailureClass.INVALID_RECIPIENT,
    410: FailureClass.INVALID_RECIPIENT,
}


def send_body(delivery: Delivery, *, keys: bool) -> bytes:
    """Return the body of `POST /v1/send`; `ref` lets the history show the delivery's key."""
    body = {
        "chat": delivery.target.chat_id,
        "text": "".join(_as_text(part) for part in delivery.parts),
        "ref": delivery.key,
    }
    if keys:
        body["key"] = delivery.key
    return msgspec.json.encode(body)


def edit_body(platform_message_id: str, text: str) -> bytes:
    """Return the body of `POST /v1/edit`."""
    return msgspec.json.encode({"message_id": platform_message_id, "text": text})


def _as_text(part: Part) -> str:
    """Pigeon carries text only, so an attachment is named."""
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, ImagePart | AudioPart | FilePart):
        return f"[{part.media.name or part.media.url or part.media.mime}]"
    return ""


def check(answer: Answer) -> None:
    """Raise the delivery error of an answer other than 2xx."""
    error = _failure(answer)
    if error is not None:
        raise error


def _failure(answer: Answer) -> DeliveryError | None:
    status = answer.status
    if 200 <= status < 300:
        return None
    if status == 429:
        return NotDelivered(
            "pigeon: the rate limit is reached (429); it is sent again later",
            FailureClass.RATE_LIMITED,
            retry_after=answer.retry_after,
        )
    if status >= 500:
        return NotDelivered(
            f"pigeon: the platform failed ({status}); it is sent again later",
            FailureClass.SERVICE_UNAVAILABLE,
            retry_after=answer.retry_after,
        )
    code = _error_code(answer.body)
    return DeliveryRejected(
        f"pigeon: the platform refused the message ({status} {code}), expected 200; "
        "correct the cause and replay the dead letter",
        _REJECTIONS.get(status, FailureClass.REJECTED),
    )


def read_receipt(answer: Answer) -> Receipt:
    """Return the id of a sent message; an answer without one leaves the delivery unknown."""
    check(answer)
    try:
        return Receipt(msgspec.json.decode(answer.body, type=_Sent).message_id)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DeliveryUnknown(
            "pigeon: the answer to a send has no message_id; the message may have arrived",
            FailureClass.SERVICE_UNAVAILABLE,
        ) from error


def find_receipt(answer: Answer, key: str) -> Receipt | None:
    """Return the message that was sent under `key`, if the history has it."""
    check(answer)
    try:
        history = msgspec.json.decode(answer.body, type=_History)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotDelivered(
            "pigeon: the history's answer is not readable; it is asked again later",
            FailureClass.SERVICE_UNAVAILABLE,
        ) from error
    found = (entry for entry in history.messages if entry.ref == key)
    return next((Receipt(entry.message_id) for entry in found), None)


def _error_code(body: bytes) -> str:
    try:
        return str(msgspec.json.decode(body, type=dict[str, str]).get("error", "no code"))[:40]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "no code"
