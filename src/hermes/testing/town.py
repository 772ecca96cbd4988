"""The people of a stand-in platform: their chats and threads, messages, reactions and files. No I/O.

Tests name people, chats and messages freely (`chat-1`); each name gets one id in the platform's form,
which a row says: `snowflake`, `uuid`, `ts`, `number:100`, or a pattern such as `wamid.[A-Z0-9]{26}`.
"""

import hashlib
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hermes.message.source import ChatType
from hermes.ports.clock import Clock
from hermes.testing.call_rules import SiteRefusal
from hermes.testing.stand_in import Post

_CLASS = re.compile(r"\[([^\]]+)\](?:\{(\d+)\})?")
_SHAPES = {"ts": r"[0-9]{10}\.[0-9]{6}", "snowflake": r"[0-9]{15,20}", "uuid": r"[0-9a-f-]{36}"}
# Discord's epoch; others count in the same way.
_EPOCH_MS = 1_420_070_400_000


class TownPerson(msgspec.Struct, kw_only=True):
    id: str
    name: str
    is_bot: bool = False


class TownChat(msgspec.Struct, kw_only=True):
    """A chat; `user` is the person of a direct one, `refuses` the row by which writing is refused."""

    id: str
    name: str
    kind: ChatType = "dm"
    user: str | None = None
    refuses: str = ""
    threads: set[str] = set()
    # Any: whatever else the platform knows of it.
    more: dict[str, Any] = {}


class TownFile(msgspec.Struct, kw_only=True):
    """A file; without data it was announced only."""

    id: str
    name: str
    size: int
    mime: str = "application/octet-stream"
    data: bytes | None = None
    is_shared: bool = False


class TownMessage(msgspec.Struct, kw_only=True):
    """A message; `before` are its earlier texts, `more` what else the platform keeps of it."""

    id: str
    chat: str
    user: str
    text: str = ""
    markup: str = ""
    at: float = 0.0
    thread: str | None = None
    reply_to: str | None = None
    files: list[TownFile] = []
    is_own: bool = False
    is_deleted: bool = False
    before: list[str] = []
    reactions: dict[str, set[str]] = {}
    more: dict[str, Any] = {}


class TownIds:
    """Makes ids, the same one for the same name."""

    def __init__(self, patterns: Mapping[str, str], clock: Clock) -> None:
        self._patterns = patterns
        self._clock = clock
        self._named: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def make(self, kind: str) -> str:
        """Return an id that was never used."""
        pattern = self._patterns[kind]
        count = self._counts[pattern] = self._counts.get(pattern, 0) + 1
        shape, _, first = pattern.partition(":")
        if shape == "number":
            return str(int(first or "1") + (count - 1) * (-1 if first.startswith("-") else 1))
        if shape in ("ts", "snowflake"):
            return self._from_time(shape)
        return _made(pattern, f"{kind} {count}")

    def of(self, kind: str, name: str) -> str:
        """Return the id that a test calls `name`: itself if it is one already."""
        if self.is_id(kind, name):
            return name
        known = self._named.get((kind, name))
        if known is None:
            pattern = self._patterns[kind]
            is_counted = pattern.partition(":")[0] in ("number", "ts", "snowflake")
            known = self.make(kind) if is_counted else _made(pattern, name)
            self._named[kind, name] = known
        return known

    def is_id(self, kind: str, name: str) -> bool:
        """Return whether a name has the form of an id."""
        pattern = self._patterns[kind]
        if pattern.startswith("number"):
            return re.fullmatch(r"-?[0-9]{1,16}", name) is not None
        shape = _SHAPES.get(pattern) or re.sub(r"^[^\[]+", lambda head: re.escape(head[0]), pattern)
        return re.fullmatch(shape, name) is not None

    def _from_time(self, shape: str) -> str:
        now = int(self._clock.now() * 1_000_000)
        last = self._counts[shape + " last"] = max(now, self._counts.get(shape + " last", 0) + 1)
        if shape == "ts":
            return f"{last // 1_000_000}.{last % 1_000_000:06}"
        return str((last // 1000 - _EPOCH_MS << 22) | last % 1000 << 12)


def _made(pattern: str, seed: str) -> str:
    """Return a text that fits a pattern, the same one for the same seed."""
    number = int.from_bytes(hashlib.sha512(f"{pattern} {seed}".encode()).digest())
    if pattern == "uuid":
        return str(uuid.UUID(int=number % (1 << 128), version=4))

    def piece(found: re.Match[str]) -> str:
        nonlocal number
        ranges = re.sub(
            r"(.)-(.)", lambda r: "".join(map(chr, range(ord(r[1]), ord(r[2]) + 1))), found[1]
        )
        chosen = ""
        for _ in range(int(found[2] or 1)):
            number, place = divmod(number, len(ranges))
            chosen += ranges[place]
        return chosen

    return _CLASS.sub(piece, pattern)


class Town:
    """Everything on one platform."""

    def __init__(self, ids: Mapping[str, str], *, clock: Clock) -> None:
        self.clock = clock
        self.ids = TownIds(ids, clock)
        self.people: dict[str, TownPerson] = {}
        self.chats: dict[str, TownChat] = {}
        self.messages: dict[str, dict[str, TownMessage]] = {}
        self.files: dict[str, TownFile] = {}
        self._chat_names: dict[str, str] = {}

    def open_person(self, name: str, shown: str = "") -> str:
        """Return the id of a person; create the person if necessary."""
        person_id = self.ids.of("person", name)
        self.people.setdefault(person_id, TownPerson(id=person_id, name=shown or name))
        return person_id

    def open_chat(
        self,
        name: str,
        *,
        chat_type: ChatType = "dm",
        user: str | None = None,
        id: str = "",  # noqa: A002 - as the field
    ) -> str:
        """Return the id of a chat; create the chat if necessary, under this `id` if it is given."""
        known = name if name in self.chats else self._chat_names.get(name)
        chat_id = known or id or self.ids.of(chat_type, name)
        self._chat_names[name] = chat_id
        self.chats.setdefault(chat_id, TownChat(id=chat_id, name=name, kind=chat_type, user=user))
        return chat_id

    def has_chat(self, name: str) -> bool:
        """Return whether there is a chat of this id or name."""
        return self._chat_names.get(name, name) in self.chats

    def find_chat(self, name: str) -> TownChat:
        """Return a chat by its id or its name."""
        chat = self.chats.get(self._chat_names.get(name, name))
        if chat is None:
            raise SiteRefusal("chat_not_found", name[:40])
        return chat

    def chat_to_write(self, name: str) -> TownChat:
        """Return a chat that the bot may write in."""
        chat = self.find_chat(name)
        if chat.refuses:
            raise SiteRefusal(chat.refuses, name[:40])
        return chat

    def post(self, chat: str, user: str, *, id: str = "", **more: Any) -> TownMessage:  # noqa: A002 - as the field
        """Add a message to a chat; one that a test names again stays as it was."""
        message_id = id or self.ids.make("message")
        message = TownMessage(id=message_id, chat=chat, user=user, at=self.clock.now(), **more)
        return self.messages.setdefault(chat, {}).setdefault(message_id, message)

    def find(self, chat: str, message_id: str) -> TownMessage:
        """Return a message that was not deleted."""
        message = self.messages.get(chat, {}).get(message_id)
        if message is None or message.is_deleted:
            raise SiteRefusal("message_not_found", message_id[:40])
        return message

    def find_own(self, chat: str, message_id: str) -> TownMessage:
        """Return a message of the bot that was not deleted."""
        message = self.find(chat, message_id)
        if not message.is_own:
            raise SiteRefusal("not_own_message", "somebody else's message")
        return message

    def edit(self, message: TownMessage, text: str, *, markup: str = "") -> TownMessage:
        """Replace the text of a message."""
        message.before.append(message.text)
        message.text, message.markup = text, markup
        return message

    def keep_file(
        self, name: str, data: bytes | None, *, mime: str = "", size: int = 0
    ) -> TownFile:
        """Store a file, or announce one of this size."""
        file_id = self.ids.make("file")
        file = TownFile(id=file_id, name=name, size=size if data is None else len(data), data=data)
        file.mime = mime or file.mime
        self.files[file_id] = file
        return file

    def find_file(self, file_id: str) -> TownFile:
        """Return a file whose bytes are there."""
        file = self.files.get(file_id)
        if file is None or file.data is None:
            raise SiteRefusal("file_not_found", file_id[:40])
        return file

    def history(self, chat: str, *, is_own: bool | None = None) -> list[TownMessage]:
        """Return the messages of a chat, oldest first; deleted ones too."""
        found = self.messages.get(chat, {}).values()
        return [one for one in found if is_own in (None, one.is_own)]

    def posts(self, chat: str, shown: Callable[[TownMessage], Post]) -> tuple[Post, ...]:
        """Return the bot's messages in a chat, oldest first."""
        if not self.has_chat(chat):
            return ()
        return tuple(map(shown, self.history(self.find_chat(chat).id, is_own=True)))
