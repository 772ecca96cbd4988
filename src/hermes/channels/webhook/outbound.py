"""Replies as signed posts, and what the receiver's answers mean. Pure."""

from typing import Final

import msgspec

from hermes.channels.webhook.settings import Route
from hermes.channels.webhook.signatures import sign_standard
from hermes.errors import DeliveryRejected, FailureClass
from hermes.message.parts import AudioPart, FilePart, ImagePart, TextPart, text_of
from hermes.net.platform_call import Answer, failure_of
from hermes.ports.channel import Delivery

PLATFORM: Final = "webhook"


class Post(msgspec.Struct, frozen=True):
    """One call: its headers and its body."""

    headers: dict[str, str]
    body: bytes


def post_of(delivery: Delivery, route: Route, *, at: int) -> Post:
    """Return the reply as a Standard Webhook whose id is the delivery's key."""
    attached = [
        {"mime": part.media.mime, "name": part.media.name, "url": part.media.url}
        for part in delivery.parts
        if isinstance(part, ImagePart | AudioPart | FilePart)
    ]
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


def check(answer: Answer) -> None:
    """Raise what an answer other than 2xx means for the delivery."""
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
