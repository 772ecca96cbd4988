"""Converts replies to Pigeon's calls. Pure."""

from typing import Any

from hermes.message.parts import AudioPart, FilePart, ImagePart, Part, TextPart
from hermes.ports.channel import Delivery


# Any: the arguments of a call are a JSON object.
def send_body(delivery: Delivery, *, keys: bool) -> dict[str, Any]:
    """Return the body of `POST /v1/send`; `ref` lets the history show the delivery's key."""
    text = "".join(_as_text(part) for part in delivery.parts)
    body = {"chat": delivery.target.chat_id, "text": text, "ref": delivery.key}
    return {**body, "key": delivery.key} if keys else body


def _as_text(part: Part) -> str:
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, ImagePart | AudioPart | FilePart):
        return f"[{part.media.name or part.media.url or part.media.mime}]"
    return ""
