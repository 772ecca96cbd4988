"""Converts Telegram's updates to events: parses the bytes, finds sender, chat and content. Pure.

The webhook's secret is checked before any byte reaches this. Updates that are not messages of
people (edits, members, service messages) give no event.
"""

import math
from collections.abc import Iterator
from typing import Final

import msgspec

from hermes.channel_kit.bodies import decode
from hermes.channel_kit.events import event_type, part_of
from hermes.channels.telegram.entities import MarkedText, read_text
from hermes.channels.telegram.wire import (
    CallbackQuery,
    Chat,
    Location,
    Message,
    MessageReaction,
    TelegramFile,
    Update,
    User,
)
from hermes.errors import TooLarge
from hermes.message.event import (
    NO_RAW,
    EventType,
    MessageEvent,
    PressedChoice,
    Reaction,
    ReplyContext,
)
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart
from hermes.message.source import ChatType, Source

PLATFORM: Final = "telegram"
# One route for polls and webhooks, so that switching between them repeats nothing.
ROUTE: Final = "bot"
_TAG_CHARS: Final = 16
# The only update types that are requested.
ALLOWED_UPDATES: Final = ("message", "channel_post", "callback_query", "message_reaction")
MAX_WEBHOOK_BYTES: Final = 1_048_576


def read_update(body: bytes) -> Update:
    """Return the update in the bytes of a webhook call."""
    if len(body) > MAX_WEBHOOK_BYTES:
        raise TooLarge(
            f"the update has {len(body)} bytes, at most {MAX_WEBHOOK_BYTES} are accepted"
        )
    return decode(body, Update, platform="telegram")


def to_events(
    update: Update, *, bot: User, account: str, now: float, raw: msgspec.Raw = NO_RAW
) -> tuple[MessageEvent, ...]:
    """Return the events of an update; none if it is nothing that somebody else has done.

    `now` is when a button was pressed, which Telegram does not say.
    """
    if update.callback_query is not None:
        found = _pressed(update.callback_query, account=account, now=now)
    elif update.message_reaction is not None:
        found = _reactions(update.message_reaction, update.update_id, account=account)
    else:
        found = _said(update.message or update.channel_post, bot=bot, account=account)
    return tuple(msgspec.structs.replace(event, raw=raw) for event in found)


def _said(message: Message | None, *, bot: User, account: str) -> Iterator[MessageEvent]:
    if message is None or (message.sender is not None and message.sender.id == bot.id):
        return
    entities = message.entities if message.text else message.caption_entities
    marked = read_text(message.text or message.caption, entities, bot=bot)
    parts, kind = _content(message, marked)
    if not parts:
        return
    answered = _answered(message)
    yield MessageEvent(
        account=account,
        route=ROUTE,
        external_id=event_id(message.chat.id, message.message_id),
        source=_source_of(message),
        parts=parts,
        at=float(message.date),
        type=kind,
        reply_to=_reply_context(message, answered),
        addressed=_is_addressed(message, marked, answered=answered, bot=bot),
        album=message.media_group_id or None,
        language="" if message.sender is None else message.sender.language_code[:_TAG_CHARS],
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


def _pressed(query: CallbackQuery, *, account: str, now: float) -> Iterator[MessageEvent]:
    message = query.message
    if message is None or not query.data:
        return
    yield MessageEvent(
        account=account,
        route=ROUTE,
        external_id=f"button:{query.id}",
        source=_source(message.chat, query.sender, topic=_topic(message)),
        parts=(),
        at=now,
        type="choice",
        pressed=PressedChoice(value=query.data, message_id=str(message.message_id)),
        language=query.sender.language_code[:_TAG_CHARS],
    )


def _reactions(told: MessageReaction, number: int, *, account: str) -> Iterator[MessageEvent]:
    """Yield each emoji that was put on a message, or taken away from it."""
    before = [one.emoji for one in told.old_reaction if one.emoji]
    after = [one.emoji for one in told.new_reaction if one.emoji]
    changed = [(emoji, True) for emoji in before if emoji not in after]
    changed += [(emoji, False) for emoji in after if emoji not in before]
    for place, (emoji, is_removed) in enumerate(dict.fromkeys(changed)):
        yield MessageEvent(
            account=account,
            route=ROUTE,
            external_id=f"reaction:{number}.{place}",
            source=_source(told.chat, told.actor_chat or told.user or told.chat),
            parts=(),
            at=float(told.date),
            type="reaction",
            reaction=Reaction(message_id=str(told.message_id), emoji=emoji, is_removed=is_removed),
        )


def _source_of(message: Message) -> Source:
    # Someone who writes as a chat (a channel, an anonymous admin) is that chat; the `from` next to
    # it is only a placeholder for old programs.
    author = message.sender_chat or message.sender or message.chat
    source = _source(message.chat, author, topic=_topic(message))
    name = message.author_signature if isinstance(author, Chat) else ""
    return msgspec.structs.replace(source, user_name=name) if name else source


def _topic(message: Message) -> int | None:
    return message.message_thread_id if message.is_topic_message else None


def _source(chat: Chat, author: User | Chat, *, topic: int | None = None) -> Source:
    return Source(
        platform=PLATFORM,
        chat_id=str(chat.id),
        chat_type=_chat_type(chat, is_topic=topic is not None),
        chat_name=chat.name,
        user_id=str(author.id),
        user_name=author.name,
        thread_id=None if topic is None else str(topic),
        is_bot=isinstance(author, User) and author.is_bot,
        parent_chat_id=None if topic is None else str(chat.id),
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
    shown, told, sticker = _attachment(message), _told(message), message.sticker
    emoji = "" if sticker is None else sticker.emoji
    text = emoji or (told if shown is None and told is not None else marked.text)
    words: tuple[Part, ...] = (TextPart(text),) if text else ()
    if shown is not None:
        return (*words, shown), "video" if _is_moving(message) else event_type((shown,))
    if told is not None:
        return words, "location" if message.contact is None else "text"
    return words, "command" if marked.is_command else "text"


def _is_moving(message: Message) -> bool:
    return bool(message.video or message.video_note or message.animation)


def _attachment(message: Message) -> Part | None:
    if message.photo:
        largest = max(
            message.photo, key=lambda size: (size.width * size.height, size.file_size or 0)
        )
        return ImagePart(_media(largest, "image/jpeg"))
    if message.voice is not None:
        return AudioPart(_media(message.voice, "audio/ogg"), is_voice=True)
    # An animation is also sent as a document, so it is checked first.
    moving = message.video or message.video_note or message.animation
    if moving is not None:
        return FilePart(_media(moving, "video/mp4"))
    if message.audio is not None:
        return AudioPart(_media(message.audio, "audio/mpeg"))
    if message.document is not None:
        return part_of(_media(message.document, "application/octet-stream"))
    sticker = message.sticker
    if sticker is not None and not (sticker.is_animated or sticker.is_video):
        return ImagePart(_media(sticker, "image/webp"))
    return None


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
