"""Converts replies to signed posts. Pure."""

import base64
from collections.abc import Sequence
from typing import Any

import msgspec

from hermes.channel_kit.proof import sign
from hermes.channels.webhook.settings import Route
from hermes.message.parts import Media, text_of
from hermes.ports.channel import Delivery, HttpRequest
from hermes.ports.channel_rows import ProofRow

PostedFile = dict[str, Any]  # Any: a file as JSON.


def file_of(media: Media, data: bytes | None) -> PostedFile:
    """Return an attachment as it is posted, with its bytes as base64; without bytes only named."""
    named: PostedFile = {"name": media.name or "file", "type": media.mime}
    if data is None:
        return {**named, "problem": "it could not be attached"}
    return {**named, "size": len(data), "content": base64.b64encode(data).decode("ascii")}


def post_of(
    delivery: Delivery, route: Route, proof: ProofRow, *, at: int, attached: Sequence[PostedFile]
) -> HttpRequest:
    """Return a reply as a Standard Webhook whose id is the delivery's key."""
    told = {
        "type": "reply",
        "id": delivery.key,
        "route": delivery.target.chat_id,
        "reply_to": delivery.target.reply_to,
        "text": text_of(delivery.parts),
        "attachments": attached,
    }
    headers = {"Content-Type": "application/json", "webhook-id": delivery.key}
    body = msgspec.json.encode(told)
    post = HttpRequest(method="POST", path="", query={}, headers=headers, body=body)
    return sign(proof, post, secret=route.reply_secret or route.secret, now=at)
