"""Converts replies to signed posts, and the receiver's answers to delivery errors. Pure."""

import base64
from typing import Final

import msgspec

from hermes.channels.webhook.settings import Route
from hermes.channels.webhook.signatures import sign_standard
from hermes.errors import DeliveryRejected, FailureClass
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, TextPart, text_of
from hermes.net.platform_call import PlatformAnswer, failure_of
from hermes.ports.channel import Delivery

PLATFORM: Final = "webhook"


class Post(msgspec.Struct, frozen=True):
    """One call: its headers and its body."""

    headers: dict[str, str]
    body: bytes


class WebhookFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of a reply: its bytes as base64, or why they are missing."""

    name: str
    type: str
    size: int | None = None
    content: str | None = None
    problem: str | None = None


def media_in(delivery: Delivery) -> tuple[Media, ...]:
    """Return the attachments of a reply."""
    return tuple(
        part.media for part in delivery.parts if isinstance(part, ImagePart | AudioPart | FilePart)
    )


def with_content(media: Media, data: bytes) -> WebhookFile:
    """Return an attachment as it is posted."""
    coded = base64.b64encode(data).decode("ascii")
    return WebhookFile(name=_name(media), type=media.mime, size=len(data), content=coded)


def without_content(media: Media) -> WebhookFile:
    """Return an attachment that has a name but can no longer be read."""
    return WebhookFile(name=_name(media), type=media.mime, problem="it could not be attached")


def post_of(
    delivery: Delivery, route: Route, *, at: int, attached: tuple[WebhookFile, ...] = ()
) -> Post:
    """Return the reply as a Standard Webhook whose id is the delivery's key."""
    told = {
        "type": "reply",
        "id": delivery.key,
        "route": delivery.target.chat_id,
        "reply_to": delivery.target.reply_to,
        "text": text_of(tuple(part for part in delivery.parts if isinstance(part, TextPart))),
        "attachments": attached,
    }
    body = msgspec.json.encode(told)
    secret = route.reply_secret or route.secret
    return Post(
        {
            "Content-Type": "application/json",
            "webhook-id": delivery.key,
            "webhook-timestamp": str(at),
            "webhook-signature": sign_standard(secret, delivery.key, at=at, body=body),
        },
        body,
    )


def _name(media: Media) -> str:
    return media.name or "file"


def check(answer: PlatformAnswer) -> None:
    """Raise the delivery error of an answer other than 2xx."""
    error = failure_of(answer, platform=PLATFORM)
    if error is not None:
        raise error


def nowhere(name: str) -> DeliveryRejected:
    """Return why a reply cannot be posted."""
    return DeliveryRejected(
        f"webhook: the route {name[:64]!r} has no reply_url (or is gone), so its answers are only "
        "kept; set platforms.webhook.routes.NAME.reply_url and replay the dead letter",
        FailureClass.INVALID_RECIPIENT,
    )
