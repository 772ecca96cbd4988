"""Turns the messages of QQ into events. Pure."""

import mimetypes
import re
from datetime import datetime
from typing import Final

import msgspec

from hermes.channel_kit.events import event_type, part_of, sent_at, with_names
from hermes.channels.qq.wire import PLATFORM, WireFile, WireMessage
from hermes.message.event import MessageEvent, ReplyHandle
from hermes.message.parts import AudioPart, Media, Part, TextPart
from hermes.message.source import Source

# The message that QQ shows a bot because it is mentioned; the other is of groups that show all.
MENTIONED: Final = "GROUP_AT_MESSAGE_CREATE"
EVENTS: Final = frozenset({"C2C_MESSAGE_CREATE", MENTIONED, "GROUP_MESSAGE_CREATE"})
_DIRECT_S: Final = 3600.0
_GROUP_S: Final = 300.0
_MENTION: Final = re.compile(r"<@!?([A-Za-z0-9_-]{1,128})>")
_VOICE: Final = "audio/silk"


def message_event(
    message: WireMessage, *, kind: str, account: str, now: float, raw: msgspec.Raw
) -> MessageEvent | None:
    """Return the event of a message; None for one that holds nothing, or that nobody wrote."""
    group, author = message.group_openid, message.author
    user = author.user_openid if group is None else author.member_openid
    parts = _parts(message)
    if user is None or not parts:
        return None
    at = sent_at(_told(message.timestamp), now=now)
    return MessageEvent(
        account=account,
        route="messages",
        external_id=message.id,
        source=Source(
            platform=PLATFORM,
            chat_id=group or user,
            chat_type="dm" if group is None else "group",
            user_id=user,
            user_name=author.username or None,
            is_bot=author.bot,
        ),
        parts=parts,
        at=at,
        type=event_type(parts),
        addressed=group is None or kind == MENTIONED or any(it.is_you for it in message.mentions),
        handle=ReplyHandle(token=message.id, until=at + (_DIRECT_S if group is None else _GROUP_S)),
        raw=raw,
    )


def _parts(message: WireMessage) -> tuple[Part, ...]:
    names = {one.id: one.username for one in message.mentions if not one.is_you and one.username}
    own = {one.id for one in message.mentions if one.is_you}
    text = with_names(message.content, _MENTION, names=names, own=own)
    words: tuple[Part, ...] = (TextPart(text),) if text else ()
    return (*words, *map(_file, message.attachments))


def _file(file: WireFile) -> Part:
    is_voice = file.content_type == "voice"
    guessed = mimetypes.guess_type(file.filename)[0] or "application/octet-stream"
    mime = _VOICE if is_voice else file.content_type if "/" in file.content_type else guessed
    url = f"https:{file.url}" if file.url.startswith("//") else file.url
    part = part_of(Media(mime, name=file.filename or None, size=file.size, ref=url))
    return (
        AudioPart(part.media, is_voice=True) if is_voice and isinstance(part, AudioPart) else part
    )


def _told(timestamp: str) -> float | None:
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError):
        return None
