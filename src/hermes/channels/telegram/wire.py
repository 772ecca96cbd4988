"""Telegram's objects, as far as they are read; other fields of an update are ignored.

Shared by `inbound.py`, which converts them to events, and `outbound.py`, which parses answers.
"""

from typing import Annotated

import msgspec

# Ids have at most 52 significant bits, according to Telegram.
Id = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]
Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class User(msgspec.Struct, frozen=True):
    """Somebody, or a bot."""

    id: Id
    is_bot: bool = False
    first_name: str = ""
    last_name: str = ""
    username: str = ""
    language_code: str = ""

    @property
    def name(self) -> str | None:
        """The name that people see."""
        return f"{self.first_name} {self.last_name}".strip() or self.username or None


class Chat(msgspec.Struct, frozen=True):
    """A chat of any kind."""

    id: Id
    type: str
    title: str = ""
    username: str = ""
    first_name: str = ""
    last_name: str = ""
    description: str = ""

    @property
    def name(self) -> str | None:
        """The name that people see."""
        named = f"{self.first_name} {self.last_name}".strip()
        return self.title or named or self.username or None


class Entity(msgspec.Struct, frozen=True):
    """A part of a text with a meaning; offsets and lengths count UTF-16 units."""

    type: str
    offset: Number
    length: Number
    url: str = ""
    user: User | None = None
    language: str = ""


class TelegramFile(msgspec.Struct, frozen=True):
    """A file of any kind; pictures have a size, stickers an emoji."""

    file_id: str
    file_name: str = ""
    mime_type: str = ""
    file_size: Number | None = None
    width: Number = 0
    height: Number = 0
    emoji: str = ""
    is_animated: bool = False
    is_video: bool = False


class Location(msgspec.Struct, frozen=True):
    """A point on the map."""

    latitude: float
    longitude: float


class Venue(msgspec.Struct, frozen=True):
    """A place with a name."""

    location: Location
    title: str = ""
    address: str = ""


class Contact(msgspec.Struct, frozen=True):
    """Somebody's phone number."""

    phone_number: str
    first_name: str = ""
    last_name: str = ""


class TextQuote(msgspec.Struct, frozen=True):
    """The part of a message that a reply quotes."""

    text: str


class ExternalReply(msgspec.Struct, frozen=True):
    """A message in another chat that a reply answers."""

    message_id: Number | None = None


class Message(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """A message, a channel post or a service message."""

    message_id: Number
    date: Number
    chat: Chat
    sender: User | None = None
    sender_chat: Chat | None = None
    author_signature: str = ""
    message_thread_id: Number | None = None
    is_topic_message: bool = False
    reply_to_message: "Message | None" = None
    external_reply: ExternalReply | None = None
    quote: TextQuote | None = None
    media_group_id: str = ""
    text: str = ""
    entities: tuple[Entity, ...] = ()
    caption: str = ""
    caption_entities: tuple[Entity, ...] = ()
    photo: tuple[TelegramFile, ...] = ()
    document: TelegramFile | None = None
    voice: TelegramFile | None = None
    audio: TelegramFile | None = None
    video: TelegramFile | None = None
    video_note: TelegramFile | None = None
    animation: TelegramFile | None = None
    sticker: TelegramFile | None = None
    location: Location | None = None
    venue: Venue | None = None
    contact: Contact | None = None
    migrate_to_chat_id: Id | None = None
    forum_topic_created: msgspec.Raw = msgspec.Raw()


class CallbackQuery(msgspec.Struct, frozen=True, rename={"sender": "from"}):
    """A press on a button; its message may be one that can no longer be read."""

    id: str
    sender: User
    message: Message | None = None
    data: str = ""


class ReactionType(msgspec.Struct, frozen=True):
    """A reaction; only those of the type `emoji` have one."""

    type: str
    emoji: str = ""


class MessageReaction(msgspec.Struct, frozen=True):
    """What somebody's reactions to a message were, and what they are now."""

    chat: Chat
    message_id: Number
    date: Number
    old_reaction: tuple[ReactionType, ...]
    new_reaction: tuple[ReactionType, ...]
    user: User | None = None
    actor_chat: Chat | None = None


class Update(msgspec.Struct, frozen=True):
    """One update; at most one of the optional fields is set."""

    update_id: Number
    message: Message | None = None
    channel_post: Message | None = None
    callback_query: CallbackQuery | None = None
    message_reaction: MessageReaction | None = None

    @property
    def chat(self) -> Chat | None:
        """Where it happened."""
        query = self.callback_query
        told = self.message or self.channel_post or self.message_reaction
        told = told or (query.message if query else None)
        return None if told is None else told.chat


class WebhookInfo(msgspec.Struct, frozen=True):
    """The state of the webhook of a bot."""

    url: str = ""
    pending_update_count: int = 0
    last_error_date: int = 0
    last_error_message: str = ""


class FileInfo(msgspec.Struct, frozen=True):
    """Where a file can be downloaded."""

    file_id: str
    file_size: Number | None = None
    file_path: str = ""


class SentMessage(msgspec.Struct, frozen=True):
    """A message that a call has sent."""

    message_id: Number
