"""Converts replies to the messages of WhatsApp's API. Pure."""

from collections.abc import Sequence
from typing import Final

from hermes.channels.meta.client import Json
from hermes.channels.meta.inbound import (
    CallReader,
    MetaCall,
    canonical_id,
    is_scoped,
    read_whatsapp,
)
from hermes.channels.meta.settings import MetaAccount
from hermes.message.parts import Choice, Media

_MOST_QUESTION: Final = 1024
_MOST_BUTTONS, _BUTTON_CHARS = 3, 20
_MOST_ROWS, _ROW_CHARS, _ROW_VALUE = 10, 24, 200
_MOST_PARAMETER: Final = 1024
_CUT: Final = "…"


class WhatsAppWire:
    """What is WhatsApp's own: how its calls are read, and how each message is written."""

    receipt = "messages.0.id"
    upload = "file"
    upload_answer = "id"
    late_hint = (
        "Replay the dead letter once they have written again, or set platforms.whatsapp.template"
    )

    def __init__(self, account: MetaAccount) -> None:
        self._account = account

    def own_id(self, _found: Json) -> str:
        """Return the number's id; by 360dialog there is one number only."""
        return self._account.own_id

    def read(self, body: bytes, reader: CallReader) -> MetaCall:
        """Return what a call of the webhook holds."""
        return read_whatsapp(body, reader)

    def text(self, chat_id: str, text: str, choices: Sequence[Choice], *, key: str) -> Json:
        """Return a text, with its choices as buttons or as a list if they fit."""
        asked = _asked(text, choices)
        if asked is not None:
            return _message(chat_id, "interactive", asked, key=key)
        content: Json = {"body": text, "preview_url": self._account.preview_links}
        return _message(chat_id, "text", content, key=key)

    def upload_fields(self, kind: str, mime: str) -> Json:
        """Return what an upload says of its file."""
        return {"messaging_product": "whatsapp", "type": mime}

    def file(
        self, chat_id: str, kind: str, file_id: str, *, media: Media, is_voice: bool, key: str
    ) -> Json:
        """Return the message of an attachment that was uploaded."""
        content: Json = {"id": file_id}
        if kind == "file":
            kind, content["filename"] = "document", media.name or "file"
        elif kind == "audio" and is_voice and media.mime.startswith("audio/ogg"):
            content["voice"] = True
        return _message(chat_id, kind, content, key=key)

    def late(self, chat_id: str, text: str, *, key: str) -> Json | None:
        """Return the template for who has not written for a day: one place, filled with the text."""
        if not self._account.template:
            return None
        filled = {"type": "text", "text": _cut(" ".join(text.split()), _MOST_PARAMETER)}
        content = {
            "name": self._account.template,
            "language": {"policy": "deterministic", "code": self._account.template_language},
            "components": [{"type": "body", "parameters": [filled]}],
        }
        return _message(chat_id, "template", content, key=key)

    def working(self, _chat_id: str, message_id: str) -> Json | None:
        """Return the note that a message was read and is being answered."""
        read = {"messaging_product": "whatsapp", "status": "read", "message_id": message_id}
        return {**read, "typing_indicator": {"type": "text"}} if message_id else None

    def reaction(self, chat_id: str, message_id: str, emoji: str) -> Json:
        """Return a reaction to a message."""
        return _message(chat_id, "reaction", {"message_id": message_id, "emoji": emoji})


def _message(chat_id: str, kind: str, content: Json, *, key: str = "") -> Json:
    """Return a message of one kind; the platform tells its key with what becomes of it."""
    place = canonical_id(chat_id)
    body = {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "recipient" if is_scoped(place) else "to": place,
        "type": kind,
        kind: content,
    }
    return {**body, "biz_opaque_callback_data": key} if key else body


def _asked(text: str, choices: Sequence[Choice]) -> Json | None:
    """Return a question with buttons, or with a list where they are too many; None if neither fits."""
    values = {choice.value for choice in choices}
    if not choices or len(values) < len(choices) or not 0 < len(text) <= _MOST_QUESTION:
        return None
    shown: Json = {"body": {"text": text}}
    if len(choices) <= _MOST_BUTTONS and max(len(one.label) for one in choices) <= _BUTTON_CHARS:
        buttons = [
            {"type": "reply", "reply": {"id": one.value, "title": one.label}} for one in choices
        ]
        return {"type": "button", **shown, "action": {"buttons": buttons}}
    if len(choices) > _MOST_ROWS or max(map(len, values)) > _ROW_VALUE:
        return None
    rows = [{"id": one.value, "title": _cut(one.label, _ROW_CHARS)} for one in choices]
    return {"type": "list", **shown, "action": {"button": "Choose", "sections": [{"rows": rows}]}}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + _CUT
