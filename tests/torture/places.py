"""The chat platforms of stories: how people write there, and what really stands there.

Pigeon is shared by many stories; every other stand-in belongs to one story, since it has one bot. A
place outlives every gateway of its story and tells each next one what was not taken yet.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Protocol

from hermes.channels.telegram import format as telegram_html
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse
from hermes.message.markup.plain import plain
from hermes.outbox.chunks import split
from hermes.outbox.marks import REPEAT_PREFIX
from hermes.plugins.manifest import load_manifest
from hermes.testing.discord.platform import DiscordStandIn, read_discord
from hermes.testing.matrix.people import room_id
from hermes.testing.matrix.platform import MatrixStandIn
from hermes.testing.meta.platform import MetaStandIn, as_read
from hermes.testing.push.platform import SamplePlatform
from hermes.testing.push.state import MAX_CHARS, PostedMessage
from hermes.testing.stand_in import Fault, FaultKind, File, StandIn
from hermes.testing.stand_in import PersonMessage as Spoken
from hermes.testing.telegram.platform import TelegramStandIn
from tests.torture.homes import SIGNING_SECRET, TOKEN, Mode
from tests.torture.polling import pause
from tests.torture.workload import PICTURE, Said

LOBBY = "lobby"
_numbers = count(1)
_DISCORD = Marks(load_manifest("hermes.channels.discord").markup)
_TELEGRAM = Marks(load_manifest("hermes.channels.telegram").markup)
_WHATSAPP = Marks(load_manifest("hermes.channels.meta", "whatsapp.toml").markup)


class Place(Protocol):
    """One platform, as a story uses it."""

    platform: str

    @property
    def settings(self) -> Mapping[str, object]:
        """How a gateway is configured for it."""
        ...

    async def open(self, chats: Iterable[str], *, closed: str) -> None:
        """Be there; in the chat that is `closed` the bot may not write."""
        ...

    async def close(self) -> None:
        """Be gone."""
        ...

    def point_at(self, url: str) -> None:
        """Call the gateway that listens here from now on."""
        ...

    def plan(self, kind: FaultKind, *, chat: str) -> None:
        """Let the next reply go wrong."""
        ...

    async def say(self, said: Said) -> str:
        """Let a person write; returns the platform's id of it, once a gateway has taken it."""
        ...

    def posted(self, chats: set[str]) -> tuple[PostedMessage, ...]:
        """Return what stands there, oldest first."""
        ...

    def shown(self, text: str) -> tuple[str, ...]:
        """Return the messages that a reply is there, as people read them."""
        ...


class PigeonPlace:
    """The platform that many stories share; the driver itself writes there, by signed webhooks."""

    platform = "pigeon"

    def __init__(self, pigeon: SamplePlatform, mode: Mode) -> None:
        self._pigeon = pigeon
        self._mode = mode

    @property
    def settings(self) -> Mapping[str, object]:
        return {
            "base_url": self._pigeon.base_url,
            "token": TOKEN,
            "signing_secret": SIGNING_SECRET,
            "keys": self._mode.keys,
            "history": self._mode.history,
        }

    async def open(self, chats: Iterable[str], *, closed: str) -> None:
        for chat in chats:
            self._pigeon.state.open_chat(chat)

    async def close(self) -> None:
        """It stays, for the others."""

    def point_at(self, url: str) -> None:
        """The driver knows where the gateway is."""

    def plan(self, kind: FaultKind, *, chat: str) -> None:
        self._pigeon.plan(Fault(op="send", kind=kind, chat=chat))

    async def say(self, said: Said) -> str:
        raise NotImplementedError("the driver writes to pigeon itself")

    def posted(self, chats: set[str]) -> tuple[PostedMessage, ...]:
        return tuple(post for post in self._pigeon.state.posted if post.chat in chats)

    def shown(self, text: str) -> tuple[str, ...]:
        return tuple(split(text, limit=MAX_CHARS - len(REPEAT_PREFIX)))


class _OwnPlace:
    """A stand-in of one story's own."""

    platform = ""

    def __init__(self, stand_in: StandIn) -> None:
        self._stand_in = stand_in

    async def close(self) -> None:
        await self._stand_in.stop()

    def point_at(self, url: str) -> None:
        self._stand_in.point_at(f"{url}/webhooks/{self.platform}")

    def plan(self, kind: FaultKind, *, chat: str) -> None:
        if kind == "reset_after":
            self._stand_in.plan(Fault(kind="reset_after"))
        else:
            self._stand_in.plan(Fault(kind="server_error"))

    def _posts(self, names: Mapping[str, str], chats: set[str]) -> tuple[PostedMessage, ...]:
        return tuple(
            PostedMessage(message_id=post.id, chat=chat, text=post.text, edits=post.edits)
            for name, chat in names.items()
            if chat in chats
            for post in self._stand_in.posts(name)
            if not post.deleted
        )


class TelegramPlace(_OwnPlace):
    """One bot on one Telegram, which is polled or calls."""

    platform = "telegram"

    def __init__(self, *, is_hooked: bool) -> None:
        mode = "webhook" if is_hooked else "poll"
        self._telegram = TelegramStandIn(mode=mode, is_local=True, token=f"7{_own_number()}:AAF-x")
        super().__init__(self._telegram)

    @property
    def settings(self) -> Mapping[str, object]:
        return {**self._telegram.settings, "poll_timeout_s": 2}

    async def open(self, chats: Iterable[str], *, closed: str) -> None:
        await self._telegram.start()
        self._names: dict[str, str] = {}
        for chat in (*chats, closed):
            opened = self._telegram.open_chat(Spoken(chat=chat, user=chat))
            opened.refuses = "blocked" if chat == closed else ""
            self._names[chat] = opened.id

    async def say(self, said: Said) -> str:
        return await self._telegram.say(_spoken(said))

    def posted(self, chats: set[str]) -> tuple[PostedMessage, ...]:
        return self._posts(self._names, chats)

    def shown(self, text: str) -> tuple[str, ...]:
        return tuple(
            telegram_html.visible(_TELEGRAM.write(parse(part))).strip()
            for part in split(text, limit=4096 - len(REPEAT_PREFIX))
        )


class MatrixPlace(_OwnPlace):
    """One bot on one homeserver."""

    platform = "matrix"

    def __init__(self) -> None:
        self._matrix = MatrixStandIn()
        self._matrix.tokens["bot"] = f"not-a-real-token-{_own_number()}"
        super().__init__(self._matrix)

    @property
    def settings(self) -> Mapping[str, object]:
        return {**self._matrix.settings, "poll_s": 2}

    async def open(self, chats: Iterable[str], *, closed: str) -> None:
        await self._matrix.start()
        # What was said before the bot first came is old to it: it has to be there first.
        self._matrix.room(LOBBY, LOBBY, LOBBY, is_direct=True)
        self._names = {chat: room_id(chat) for chat in (*chats, closed)}

    async def say(self, said: Said) -> str:
        while not self._matrix.acknowledged:
            await self._matrix.state.changed(1.0)
        written = self._matrix.write(_spoken(said))
        wanted = self._matrix.state.position
        while self._matrix.acknowledged < wanted:
            await self._matrix.state.changed(1.0)
        return written

    def posted(self, chats: set[str]) -> tuple[PostedMessage, ...]:
        return self._posts(self._names, chats)

    def shown(self, text: str) -> tuple[str, ...]:
        return (plain(parse(text)),)


class WhatsAppPlace(_OwnPlace):
    """One number on one WhatsApp, which calls until it is answered."""

    platform = "whatsapp"

    def __init__(self) -> None:
        self._whatsapp = MetaStandIn()
        self._whatsapp.tokens["bot"] = f"EAAnot-a-real-token-{_own_number()}"
        super().__init__(self._whatsapp)

    @property
    def settings(self) -> Mapping[str, object]:
        return self._whatsapp.settings

    async def open(self, chats: Iterable[str], *, closed: str) -> None:
        await self._whatsapp.start()
        town = self._whatsapp.town
        self._names = {chat: town.open_chat(chat, user=chat) for chat in (*chats, closed)}
        town.find_chat(closed).refuses = "blocked"

    async def say(self, said: Said) -> str:
        while self._whatsapp.push.url is None:
            await pause()
        return await self._whatsapp.say(_spoken(said))

    def posted(self, chats: set[str]) -> tuple[PostedMessage, ...]:
        return self._posts(self._names, chats)

    def shown(self, text: str) -> tuple[str, ...]:
        return tuple(
            as_read(_WHATSAPP.write(parse(part))).strip()
            for part in split(text, limit=4096 - len(REPEAT_PREFIX))
        )


def _discord_length(text: str) -> int:
    return len(_DISCORD.write(parse(text)))


class DiscordPlace(_OwnPlace):
    """One bot on one Discord, whose gateway numbers what it tells."""

    platform = "discord"

    def __init__(self) -> None:
        self._discord = DiscordStandIn(heartbeat_s=0.05)
        self._discord.tokens["bot"] = f"not-a-real-token-{_own_number()}"
        super().__init__(self._discord)

    @property
    def settings(self) -> Mapping[str, object]:
        return {**self._discord.settings, "bot_token": self._discord.tokens["bot"]}

    async def open(self, chats: Iterable[str], *, closed: str) -> None:
        await self._discord.start()
        town = self._discord.town
        for chat in (*chats, closed):
            opened = town.open_chat(chat, user=town.open_person(chat))
            town.chats[opened].refuses = "no_direct_messages" if chat == closed else ""
        self._names = {chat: town.find_chat(chat).id for chat in (*chats, closed)}

    async def say(self, said: Said) -> str:
        return await self._discord.say(_spoken(said))

    def posted(self, chats: set[str]) -> tuple[PostedMessage, ...]:
        return self._posts(self._names, chats)

    def shown(self, text: str) -> tuple[str, ...]:
        limit = 2000 - len(REPEAT_PREFIX)
        return tuple(
            read_discord(_DISCORD.write(parse(part))).strip()
            for part in split(text, limit=limit, measure=_discord_length)
        )


def _own_number() -> int:
    """Return a number that no story beside has: a credential is one gateway's alone."""
    return os.getpid() * 100_000 + next(_numbers)


def _spoken(said: Said) -> Spoken:
    files = (File(data=PICTURE, mime="image/png", name="picture.png"),) if said.is_photo else ()
    return Spoken(text=said.text, chat=said.chat, user=said.chat, times=said.copies, files=files)


PLACES: Mapping[str, Callable[[], Place]] = {
    "telegram": lambda: TelegramPlace(is_hooked=False),
    "hooked": lambda: TelegramPlace(is_hooked=True),
    "matrix": MatrixPlace,
    "whatsapp": WhatsAppPlace,
    "discord": DiscordPlace,
}
