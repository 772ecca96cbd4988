"""Converts replies to signed posts. Pure."""

import base64
from typing import Final

import msgspec

from hermes.channels.webhook.settings import Route
from hermes.channels.webhook.signatures import sign_standard
from hermes.message.parts import Media, TextPart, text_of
from hermes.ports.channel import Delivery

PLATFORM: Final = "webhook"


class WebhookFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of a reply: its bytes as base64, or why they are missing."""

    name: str
    type: str
    size: int | None = None
    content: str | None = None
    problem: str | None = None


def file_of(media: Media, data: bytes | None) -> WebhookFile:
    """Return an attachment as it is posted; without bytes it is only named."""
    name = media.name or "file"
    if data is None:
        return WebhookFile(name=name, type=media.mime, problem="it could not be attached")
    coded = base64.b64encode(data).decode("ascii")
    return WebhookFile(name=name, type=media.mime, size=len(data), content=coded)


def post_of(
    delivery: Delivery, route: Route, *, at: int, attached: tuple[WebhookFile, ...] = ()
) -> tuple[dict[str, str], bytes]:
    """Return the headers and body of the Standard Webhook whose id is the delivery's key."""
    told = {
        "type": "reply",
        "id": delivery.key,
        "route": delivery.target.chat_id,
        "reply_to": delivery.target.reply_to,
        "text": text_of(tuple(part for part in delivery.parts if isinstance(part, TextPart))),
        "attachments": attached,
    }
    body = msgspec.json.encode(told)
    signed = sign_standard(route.reply_secret or route.secret, delivery.key, at=at, body=body)
    return {"Content-Type": "application/json", **signed}, body
