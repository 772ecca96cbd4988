"""Converts deliveries to event content. Pure."""

from typing import Any, Final

import msgspec

from hermes.channels.matrix.format import is_plain, render
from hermes.channels.matrix.inbound import VOICE
from hermes.errors import DeliveryRejected, FailureClass
from hermes.message.markup.parse import parse
from hermes.message.markup.plain import plain
from hermes.message.parts import AudioPart, ImagePart, Media
from hermes.ports.channel import Target

HTML: Final = "org.matrix.custom.html"
# An event's ids, hashes, signatures and references need some of its 65,536 bytes.
MAX_CONTENT_BYTES: Final = 60_000
_MAX_BODIES_BYTES: Final = 58_000
# Clients without edits show this much of one.
_EDIT_SHOWN_CHARS = 200
_NAME_CHARS = 200
_encode = msgspec.json.Encoder().encode

# Any: JSON on its way out.
Content = dict[str, Any]


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


def media_content(
    part: object, media: Media, *, uri: str, size: int, file: Content | None = None
) -> Content:
    """Return an uploaded attachment as content; `file` says how an encrypted one is opened."""
    name = clean(media.name or "file")[:_NAME_CHARS]
    voice: Content = {VOICE: {}} if isinstance(part, AudioPart) and part.is_voice else {}
    return {
        **voice,
        "msgtype": kind_of(part, media),
        "body": name,
        "filename": name,
        **({"url": uri} if file is None else {"file": {**file, "url": uri}}),
        "info": {"mimetype": media.mime, "size": size},
        "m.mentions": {},
    }


def reaction_content(emoji: str, event_id: str) -> Content:
    """Return the bot's reaction to a message."""
    relation = {"rel_type": "m.annotation", "event_id": event_id, "key": emoji}
    return {"m.relates_to": relation}


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


def _bodies(markdown: str) -> tuple[str, str]:
    """Return a text as plain text, and as HTML if that adds something."""
    text = clean(markdown)
    document = parse(text)
    # If nothing is visible, such as for an empty list, use the source text.
    return clean(plain(document)) or text, "" if is_plain(document) else clean(render(document))
