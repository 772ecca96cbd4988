"""Converts Telegram's updates to events: parses the bytes, finds sender, chat and content. Pure.

The webhook's secret is checked before any byte reaches this. Updates that are not messages of
people (edits, members, service messages) give no event.
"""

import hmac
import math
from collections.abc import Mapping
from typing import Final

import msgspec

from hermes.channels.telegram.entities import MarkedText, read_text
from hermes.channels.telegram.wire import (
    CallbackQuery,
    Chat,
    Location,
    Message,
    TelegramFile,
    Update,
    User,
)
from hermes.errors import BadRequest, TooLarge, Unauthenticated
from hermes.message.event import EventType, MessageEvent, ReplyContext
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart
from hermes.message.source import ChatType, Source

PLATFORM: Final = "telegram"
# One route for polls and webhooks, so that switching between them repeats nothing.
ROUTE: Final = "bot"
# The only update types that are requested.
ALLOWED_UPDATES: Final = ("message", "channel_post", "callback_query")
MAX_WEBHOOK_BYTES: Final = 1_048_576
SECRET_HEADER: Final = "x-telegram-bot-api-secret-token"
# The prefix of the data of our own buttons.
BUTTON: Final = "hermes:"

_decode = msgspec.json.Decoder(Update).decode


def check_secret(headers: Mapping[str, str], *, secret: str) -> None:
    """Raise `Unauthenticated` unless the call carries the secret that was registered with
    Telegram.
    """
    shown = headers.get(SECRET_HEADER, "").encode("utf-8", "surrogateescape")
    if not secret or not hmac.compare_digest(shown, secret.encode()):
        raise Unauthenticated(
            "X-Telegram-Bot-Api-Secret-Token is not the secret of this webhook: the call is not from "
            "Telegram, or platforms.telegram.webhook_secret was changed since setWebhook"
        )


def read_update(body: bytes) -> Update:
    """Return the update in the bytes."""
    if len(body) > MAX_WEBHOOK_BYTES:
        raise TooLarge(
            f"the update has {len(body)} bytes, at most {MAX_WEBHOOK_BYTES} are accepted"
        )
    try:
        return _decode(body)
    except RecursionError:
        raise BadRequest("the body is not a Telegram update: it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"the body is not a Telegram update: {error}") from None


def to_event(
    update: Update, *, bot: User, account: str, now: float, raw: bytes = b""
) -> MessageEvent | None:
    """Return the event of an update; None if it is not a message of somebody else.

    `now` is when a button was pressed, which Telegram does not say.
    """
    query = update.callback_query
    if query is not None:
        return _pressed(query, account=account, now=now, raw=raw)
    message = update.message or update.channel_post
    if message is None or (message.sender is not None and message.sender.id == bot.id):
        return None
    entities = message.entities if message.text else message.caption_entities
    marked = read_text(message.text or message.caption, entities, bot=bot)
    parts, kind = _content(message, marked)
    if not parts:
        return None
    answered = _answered(message)
    return MessageEvent(
        account=account,
        route=ROUTE,
        external_id=event_id(message.chat.id, message.message_id),
        source=_source(message, author=message.sender),
        parts=parts,
        at=float(message.date),
        type=kind,
        reply_to=_reply_context(message, answered),
        addressed=_is_addressed(message, marked, answered=answered, bot=bot),
        album=message.media_group_id or None,
        raw=msgspec.Raw(raw),
    )


def event_id(chat_id: int, message_id: int) -> str:
    """Return a unique id of a message; it does not begin with a minus, so that commands
    accept it.
    """
    return f"{message_id}@{chat_id}"


def message_id_of(external_id: str | None) -> int | None:
    """Return the message's id within its chat, if that is what `external_id` names."""
    number, _, _chat = (external_id or "").partition("@")
    # At most 16 digits: Telegram's ids have 52 bits.
    return int(number) if number.isascii() and number.isdigit() and len(number) <= 16 else None


def migration_of(update: Update) -> tuple[int, int] | None:
    """Return the old and the new id of a group that has just become a supergroup."""
    message = update.message
    if message is None or message.migrate_to_chat_id is None:
        return None
    return message.chat.id, message.migrate_to_chat_id


def _pressed(query: CallbackQuery, *, account: str, now: float, raw: bytes) -> MessageEvent | None:
    """Return a press on one of our buttons as the text that the button stands for."""
    message = query.message
    text = query.data.removeprefix(BUTTON).strip()
    if message is None or not query.data.startswith(BUTTON) or not text:
        return None
    return MessageEvent(
        account=account,
        route=ROUTE,
        external_id=f"button:{query.id}",
        source=_source(message, author=query.sender, is_person=True),
        parts=(TextPart(text),),
        at=now,
        type="command" if text.startswith("/") else "text",
        raw=msgspec.Raw(raw),
    )


def _source(message: Message, *, author: User | None, is_person: bool = False) -> Source:
    chat = message.chat
    thread = message.message_thread_id if message.is_topic_message else None
    # Someone who writes as a chat (a channel, an anonymous admin) is that chat; the `from` next to
    # it is only a placeholder for old programs.
    behalf = None if is_person else message.sender_chat
    if author is None or behalf is not None:
        writer = behalf or chat
        user_id, is_bot = str(writer.id), False
        user_name = message.author_signature or writer.name
    else:
        user_id, user_name, is_bot = str(author.id), author.name, author.is_bot
    return Source(
        platform=PLATFORM,
        chat_id=str(chat.id),
        chat_type=_chat_type(chat, is_topic=thread is not None),
        chat_name=chat.name,
        user_id=user_id,
        user_name=user_name,
        thread_id=None if thread is None else str(thread),
        is_bot=is_bot,
        parent_chat_id=None if thread is None else str(chat.id),
    )


def _chat_type(chat: Chat, *, is_topic: bool) -> ChatType:
    if chat.type == "private":
        return "dm"
    if chat.type == "channel":
        return "channel"
    return "thread" if is_topic else "group"


def _answered(message: Message) -> Message | None:
    """Return the message that this one answers; in a topic, the topic's opening message does not
    count.
    """
    found = message.reply_to_message
    is_opening = found is not None and bool(bytes(found.forum_topic_created))
    return None if is_opening else found


def _reply_context(message: Message, answered: Message | None) -> ReplyContext | None:
    quoted = None if message.quote is None else message.quote.text
    if answered is None:
        elsewhere = message.external_reply
        if elsewhere is None and quoted is None:
            return None
        number = None if elsewhere is None else elsewhere.message_id
        return ReplyContext(message_id="" if number is None else str(number), text=quoted)
    author = answered.sender
    return ReplyContext(
        message_id=event_id(message.chat.id, answered.message_id),
        text=quoted or answered.text or answered.caption or None,
        user_id=None if author is None else str(author.id),
    )


def _is_addressed(
    message: Message, marked: MarkedText, *, answered: Message | None, bot: User
) -> bool:
    if message.chat.type == "private" or marked.names_bot:
        return True
    if answered is None or marked.is_for_another:
        return False
    return answered.sender is not None and answered.sender.id == bot.id


def _content(message: Message, marked: MarkedText) -> tuple[tuple[Part, ...], EventType]:
    """Return the message's text and media, and its kind."""
    words: tuple[Part, ...] = (TextPart(marked.text),) if marked.text else ()
    shown = _attachment(message)
    if shown is not None:
        part, kind = shown
        sticker = message.sticker
        if sticker is not None and sticker.emoji:
            words = (TextPart(sticker.emoji),)
        return (*words, part), kind
    told = _told(message)
    if told is not None:
        return (TextPart(told),), "location" if message.contact is None else "text"
    if message.sticker is not None and message.sticker.emoji:
        return (TextPart(message.sticker.emoji),), "text"
    return words, "command" if marked.is_command else "text"


def _attachment(message: Message) -> tuple[Part, EventType] | None:
    if message.photo:
        largest = max(
            message.photo, key=lambda size: (size.width * size.height, size.file_size or 0)
        )
        return ImagePart(_media(largest, "image/jpeg")), "image"
    if message.voice is not None:
        return AudioPart(_media(message.voice, "audio/ogg")), "audio"
    if message.audio is not None:
        return AudioPart(_media(message.audio, "audio/mpeg")), "audio"
    # An animation is also sent as a document, so it is checked first.
    for moving in (message.video, message.video_note, message.animation):
        if moving is not None:
            return FilePart(_media(moving, "video/mp4")), "video"
    if message.document is not None:
        return _document(message.document)
    sticker = message.sticker
    if sticker is not None and not (sticker.is_animated or sticker.is_video):
        return ImagePart(_media(sticker, "image/webp")), "image"
    return None


def _document(document: TelegramFile) -> tuple[Part, EventType]:
    media = _media(document, "application/octet-stream")
    if media.mime in {"image/jpeg", "image/png", "image/webp", "image/gif"}:
        return ImagePart(media), "image"
    if media.mime.startswith("audio/"):
        return AudioPart(media), "audio"
    return FilePart(media), "video" if media.mime.startswith("video/") else "file"


def _media(attached: TelegramFile, mime: str) -> Media:
    return Media(
        attached.mime_type.lower() or mime,
        name=attached.file_name or None,
        size=attached.file_size,
        ref=attached.file_id,
    )


def _told(message: Message) -> str | None:
    """Return a place or a contact as text."""
    if message.venue is not None:
        point = _point(message.venue.location)
        named = ", ".join(filter(None, (message.venue.title, message.venue.address)))
        return None if point is None else f"Location: {named} ({point})"
    if message.location is not None:
        point = _point(message.location)
        return None if point is None else f"Location: {point}"
    if message.contact is not None:
        contact = message.contact
        name = f"{contact.first_name} {contact.last_name}".strip()
        return f"Contact: {name}, {contact.phone_number}"
    return None


def _point(location: Location) -> str | None:
    if not (math.isfinite(location.latitude) and math.isfinite(location.longitude)):
        return None
    return f"{location.latitude:.6g}, {location.longitude:.6g}"
