"""The state of the stand-in: people, channels, messages, threads, files. No I/O.

Tests may name chats and people freely (`chat-1`); each name gets one id in Slack's format.
"""

import hashlib
import re
from typing import Any

import msgspec

from hermes.message.source import ChatType
from hermes.ports.clock import Clock
from hermes.testing.slack.refusal import SlackError

TEAM = "T0HERMES01"
BOT_USER = "U0HERMESBT"
BOT_ID = "B0HERMESBT"
APP = "A0HERMES01"
_PREFIX = {"dm": "D", "group": "G", "channel": "C", "thread": "C"}
_TS = re.compile(r"[0-9]{10}\.[0-9]{6}")
_ID = re.compile(r"[CDGUW][A-Z0-9]{6,}")
# Any: messages are JSON objects as the API shows them.
Json = dict[str, Any]


class Channel(msgspec.Struct, kw_only=True):
    id: str
    name: str
    user: str | None = None
    is_member: bool = True
    is_archived: bool = False


class Message(msgspec.Struct, kw_only=True):
    channel: str
    ts: str
    user: str
    text: str
    thread_ts: str | None = None
    blocks: list[Any] = []
    metadata: Json | None = None
    files: list[Json] = []
    is_bots: bool = False
    edits: int = 0
    is_deleted: bool = False

    def shown(self, *, with_metadata: bool) -> Json:
        """Return the message as the history shows it."""
        told: Json = {"type": "message", "user": self.user, "text": self.text, "ts": self.ts}
        if self.is_bots:
            told |= {"bot_id": BOT_ID, "app_id": APP}
        if self.thread_ts is not None:
            told["thread_ts"] = self.thread_ts
        if self.blocks:
            told["blocks"] = self.blocks
        if self.files:
            told["files"] = self.files
        if with_metadata and self.metadata is not None:
            told["metadata"] = self.metadata
        return told


class StoredFile(msgspec.Struct, kw_only=True):
    id: str
    name: str
    length: int
    mime: str = "application/octet-stream"
    data: bytes | None = None
    is_shared: bool = False


class SlackState:
    """The workspace."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.channels: dict[str, Channel] = {}
        self.users: dict[str, str] = {BOT_USER: "hermes"}
        self.messages: list[Message] = []
        self.files: dict[str, StoredFile] = {}
        self._names: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self._last = 0

    def make_ts(self) -> str:
        """Return a new, unique ts."""
        self._last = max(int(self._clock.now() * 1_000_000), self._last + 1)
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06}"

    def ts_of(self, name: str) -> str:
        """Return the ts that a test calls `name`; a new one without a name."""
        # A test that repeats a message names it by the result of `say`: channel:ts.
        ts = name.rpartition(":")[2]
        if not name or _TS.fullmatch(ts):
            return ts or self.make_ts()
        return self._said.setdefault(name, "") or self._named_ts(name)

    def _named_ts(self, name: str) -> str:
        self._said[name] = self.make_ts()
        return self._said[name]

    def open_chat(self, name: str, *, chat_type: ChatType = "dm", user: str | None = None) -> str:
        """Return the id of a chat; create the chat if necessary."""
        chat_id = self._names.get(name) or (
            name if _ID.fullmatch(name) else _id(_PREFIX[chat_type], name)
        )
        self._names[name] = chat_id
        self.channels.setdefault(chat_id, Channel(id=chat_id, name=name, user=user))
        return chat_id

    def open_user(self, name: str, shown: str) -> str:
        """Return the id of a person; create the person if necessary."""
        user_id = name if _ID.fullmatch(name) else _id("U", name)
        self.users.setdefault(user_id, shown)
        return user_id

    def open_direct(self, user_id: str) -> str:
        """Return the direct chat with a person."""
        if user_id not in self.users:
            raise SlackError("user_not_found", user_id)
        for channel in self.channels.values():
            if channel.user == user_id and channel.id.startswith("D"):
                return channel.id
        return self.open_chat(_id("D", user_id), user=user_id)

    def has_chat(self, name: str) -> bool:
        """Return whether there is a chat of this id or name."""
        return self._names.get(name, name) in self.channels

    def find_chat(self, name: str) -> Channel:
        """Return a chat by its id or its name."""
        chat_id = self._names.get(name.removeprefix("#"), name)
        if chat_id.startswith("U"):
            chat_id = self.open_direct(chat_id)
        channel = self.channels.get(chat_id)
        if channel is None:
            raise SlackError("channel_not_found", name[:40])
        return channel

    def chat_to_write(self, name: str) -> Channel:
        """Return a chat that the bot may write in."""
        channel = self.find_chat(name)
        if channel.is_archived:
            raise SlackError("is_archived", name)
        if not channel.is_member:
            raise SlackError("not_in_channel", name)
        return channel

    def add(self, message: Message) -> Message:
        """Post a message."""
        if message.thread_ts is not None and message.thread_ts != message.ts:
            parent = self.find(message.channel, message.thread_ts)
            if parent.thread_ts not in (None, parent.ts):
                raise SlackError("cannot_reply_to_message", "a reply has no thread of its own")
            parent.thread_ts = parent.ts
        self.messages.append(message)
        return message

    def find(self, channel: str, ts: str) -> Message:
        """Return a posted message."""
        for message in self.messages:
            if (message.channel, message.ts) == (channel, ts) and not message.is_deleted:
                return message
        raise SlackError("message_not_found", ts)

    def history(self, channel: str, *, oldest: str, thread: str | None) -> list[Message]:
        """Return the messages of a channel, newest first, or of a thread, oldest first."""
        found = [
            message
            for message in self.messages
            if message.channel == channel and not message.is_deleted
        ]
        if thread is None:
            top = [one for one in found if one.thread_ts in (None, one.ts)]
            return [one for one in reversed(top) if float(one.ts) > float(oldest)]
        self.find(channel, thread)
        return [
            one
            for one in found
            if one.ts == thread or (one.thread_ts == thread and float(one.ts) > float(oldest))
        ]


def _id(prefix: str, name: str) -> str:
    return prefix + hashlib.sha256(name.encode()).hexdigest()[:10].upper()
