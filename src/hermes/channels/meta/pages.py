"""Messages of Instagram and Messenger, which have one shape, in and out. Pure.

An account is a page or a professional account of Instagram; whoever writes to it is named by an id that
only this account has.
"""

from collections.abc import Sequence
from typing import Final

from hermes.channel_kit.bodies import objects_at, text_at
from hermes.channel_kit.events import event_type, part_of, raw_of, sent_at
from hermes.channels.meta.client import Json
from hermes.channels.meta.inbound import (
    ROUTE,
    CallReader,
    HeardMessage,
    MetaCall,
    SendProof,
    read_body,
)
from hermes.channels.meta.settings import MetaAccount
from hermes.message.event import MessageEvent, PressedChoice, Reaction, ReplyContext
from hermes.message.parts import Choice, Media, Part, TextPart
from hermes.message.source import Source

_MOST_FILES: Final = 20
_MOST_REPLIES: Final = 13
_REPLY_CHARS: Final = 20
# What an attachment of a kind is if nobody says more; its bytes decide once it is fetched.
_TYPES: Final = {"image": "image/jpeg", "audio": "audio/mp4", "video": "video/mp4"}


def read_pages(body: bytes, reader: CallReader) -> MetaCall:
    """Return what a call holds; what the account itself has sent proves that it arrived."""
    heard: list[HeardMessage] = []
    proofs: list[SendProof] = []
    for entry in objects_at(read_body(body), "entry"):
        if reader.own_id not in ("", text_at(entry, "id")):
            continue
        for wire in objects_at(entry, "messaging"):
            key, sender = text_at(wire, "message.metadata"), text_at(wire, "sender.id")
            if _is_echo(wire) or sender == reader.own_id:
                proofs += [SendProof(key, text_at(wire, "message.mid"))] if key else []
            elif sender and (event := _event(wire, sender, reader)) is not None:
                heard.append(HeardMessage(event, (sender,)))
    return MetaCall(heard=tuple(heard), proofs=tuple(proofs))


def _is_echo(wire: Json) -> bool:
    message = wire.get("message")
    return isinstance(message, dict) and message.get("is_echo") is True


def _event(wire: Json, sender: str, reader: CallReader) -> MessageEvent | None:
    stamp, parts = text_at(wire, "timestamp"), _parts(wire)
    pressed, reaction = _pressed(wire), _reaction(wire)
    # A reaction has no id of its own: it is known by what it is on, and when.
    message_id = text_at(wire, "message.mid") or text_at(wire, "postback.mid")
    if not message_id and (reaction or pressed):
        message_id = f"{sender}:{stamp}:{'react' if reaction else 'press'}"
    if not message_id or not (parts or pressed or reaction):
        return None
    answered = text_at(wire, "message.reply_to.mid")
    return MessageEvent(
        account=reader.account,
        route=ROUTE,
        external_id=message_id,
        source=Source(platform=reader.platform, chat_id=sender, user_id=sender),
        parts=() if pressed else parts,
        at=sent_at(float(stamp) if stamp.isdecimal() else None, now=reader.now),
        type="choice" if pressed else "reaction" if reaction else event_type(parts),
        reply_to=ReplyContext(message_id=answered) if answered else None,
        pressed=pressed,
        reaction=reaction,
        raw=raw_of(wire),
    )


def _parts(wire: Json) -> tuple[Part, ...]:
    text = text_at(wire, "message.text")
    parts: list[Part] = [TextPart(text)] if text else []
    for one in objects_at(wire, "message.attachments", most=_MOST_FILES):
        url, kind = text_at(one, "payload.url"), text_at(one, "type")
        if url and kind in (*_TYPES, "file"):
            parts.append(part_of(Media(_TYPES.get(kind, "application/octet-stream"), ref=url)))
        elif url:
            parts.append(TextPart(f"\n{kind}: {url}"))
    return tuple(parts)


def _pressed(wire: Json) -> PressedChoice | None:
    value = text_at(wire, "message.quick_reply.payload") or text_at(wire, "postback.payload")
    return PressedChoice(value=value, message_id="") if value else None


def _reaction(wire: Json) -> Reaction | None:
    about, emoji = text_at(wire, "reaction.mid"), text_at(wire, "reaction.emoji")
    is_removed = text_at(wire, "reaction.action") == "unreact"
    return Reaction(message_id=about, emoji=emoji, is_removed=is_removed) if about else None


class PageWire:
    """How the messages of Instagram and Messenger are read and written."""

    receipt = "message_id"
    upload = "filedata"
    upload_answer = "attachment_id"
    late_hint = "Replay the dead letter once they have written again"

    def __init__(self, account: MetaAccount) -> None:
        # Messenger shows a page what it has sent, with the metadata; Instagram takes none.
        self._has_echo = account.platform == "messenger"
        self._platform = account.platform

    def own_id(self, found: Json) -> str:
        """Return the id of the page, or of its account of Instagram, of what is said of the credential."""
        return text_at(found, "id" if self._has_echo else "instagram_business_account.id")

    def read(self, body: bytes, reader: CallReader) -> MetaCall:
        """Return what a call of the webhook holds."""
        return read_pages(body, reader)

    def text(self, chat_id: str, text: str, choices: Sequence[Choice], *, key: str) -> Json:
        """Return a text, with its choices as quick replies if all of them fit."""
        fits = len(choices) <= _MOST_REPLIES and all(
            len(one.label) <= _REPLY_CHARS for one in choices
        )
        replies = [
            {"content_type": "text", "title": one.label, "payload": one.value} for one in choices
        ]
        message: Json = (
            {"text": text, "quick_replies": replies} if choices and fits else {"text": text}
        )
        return self._message(chat_id, message, key=key)

    def upload_fields(self, kind: str, _mime: str) -> Json:
        """Return what an upload says of its file."""
        fields: Json = {
            "message": {"attachment": {"type": kind, "payload": {"is_reusable": False}}}
        }
        return fields if self._platform == "messenger" else {**fields, "platform": self._platform}

    def file(
        self, chat_id: str, kind: str, file_id: str, *, media: Media, is_voice: bool, key: str
    ) -> Json:
        """Return the message of an attachment that was uploaded."""
        attachment = {"type": kind, "payload": {"attachment_id": file_id}}
        return self._message(chat_id, {"attachment": attachment}, key=key)

    def late(self, _chat_id: str, _text: str, *, key: str) -> Json | None:
        """Return None: nothing may be written to who has not written for a day."""
        return None

    def working(self, chat_id: str, _message_id: str) -> Json | None:
        """Return the note that an answer is being written."""
        return {"recipient": {"id": chat_id}, "sender_action": "typing_on"}

    def reaction(self, _chat_id: str, _message_id: str, _emoji: str) -> Json | None:
        """Return None: the manifests declare no reactions."""
        return None

    def _message(self, chat_id: str, message: Json, *, key: str) -> Json:
        told = {**message, "metadata": key} if self._has_echo else message
        return {"recipient": {"id": chat_id}, "messaging_type": "RESPONSE", "message": told}
