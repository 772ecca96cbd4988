"""The people and channels of the stand-in, and what the bot has written to whom."""

import re
from itertools import count

import msgspec

from hermes.testing.irc.lines import as_read
from hermes.testing.stand_in import PersonMessage, Post

_NOT_IN_NICKS = re.compile(r"[^A-Za-z0-9_-]|^[0-9-]")


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """A person with a client; `account` is empty if they are not signed in."""

    nick: str
    account: str = ""
    host: str = "people.hermes.test"

    @property
    def prefix(self) -> str:
        return f"{self.nick}!~{self.nick.lower()}@{self.host}"


class BotLine(msgspec.Struct, frozen=True):
    """A line of the bot, and its target."""

    target: str
    text: str
    id: str
    command: str


class IrcState:
    """People by nick, channels with their keys, and a record of the bot's lines."""

    def __init__(self, *, has_accounts: bool) -> None:
        self._has_accounts = has_accounts
        self.people: dict[str, Person] = {}
        self.rooms: dict[str, str] = {}
        self.written: list[BotLine] = []
        self._users: dict[str, str] = {}
        self._chats: dict[str, str] = {}
        self._ids = count(1)

    def next_id(self) -> str:
        return f"msg-{next(self._ids)}"

    def person(self, said: PersonMessage) -> Person:
        """Return the person who writes; created with a free nick on first use."""
        nick = self._users.get(said.user)
        if nick is None:
            wanted = _NOT_IN_NICKS.sub("_", said.user_name) or said.user
            nick = wanted if wanted.lower() not in self.people else said.user
            self._users[said.user] = nick
            account = said.user if self._has_accounts else ""
            self.people[nick.lower()] = Person(nick=nick, account=account)
        return self.people[nick.lower()]

    def rename(self, old: str, new: str) -> Person:
        """Give a person another nick; return their old identity."""
        before = self.people.pop(old.lower())
        self.people[new.lower()] = msgspec.structs.replace(before, nick=new)
        self._users = {user: new if nick == old else nick for user, nick in self._users.items()}
        self._chats = {chat: new if nick == old else nick for chat, nick in self._chats.items()}
        return before

    def place(self, said: PersonMessage, person: Person) -> str:
        """Return where a message goes: a channel, or nothing for the bot alone."""
        target = person.nick if said.chat_type == "dm" else f"#{said.chat}"
        self._chats[said.chat] = target
        return "" if said.chat_type == "dm" else target

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return the lines of the bot in a chat."""
        target = self._chats.get(chat, f"#{chat}").lower()
        return tuple(
            Post(id=one.id, chat=chat, text=as_read(one.text), markup=one.text)
            for one in self.written
            if one.target.lower() == target and one.command == "PRIVMSG"
        )
