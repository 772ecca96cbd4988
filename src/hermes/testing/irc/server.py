"""IRC on loopback as one object: the server, its faults, and what people do there.

Fits `testing.stand_in.StandIn`. With `is_plain` it is an old server: no capabilities, no accounts,
no message ids, a server password instead of SASL.
"""

import asyncio
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from hermes.ports.clock import Clock, SystemClock
from hermes.testing.irc.link import SERVER, Link
from hermes.testing.irc.state import IrcState
from hermes.testing.stand_in import Fault, PersonMessage, Post, no_rejections

ALL_CAPS = frozenset(
    {
        *("account-notify", "account-tag", "batch", "cap-notify", "echo-message", "extended-join"),
        *("labeled-response", "message-tags", "multi-prefix", "sasl", "server-time"),
    }
)
USER, PASSWORD = "hermes", "not-a-real-password"
_REFUSED_S = 0.5
_TEXT_CHARS = 400


class IrcStandIn:
    """One server with people on it; every client that connects is the bot."""

    def __init__(
        self,
        *,
        is_plain: bool = False,
        caps: frozenset[str] = ALL_CAPS,
        rooms: tuple[str, ...] = ("#chat-1", "#chat-2", "#group-1", "#lab"),
        is_limited: bool = False,
        flood_gap_s: float = 1.0,
        tls: ssl.SSLContext | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.caps = frozenset() if is_plain else caps
        self.password = PASSWORD if is_plain else ""
        self.credential = (USER, PASSWORD)
        self.is_limited = is_limited
        self.flood_gap_s = flood_gap_s
        self.is_revoked = False
        self.state = IrcState(has_accounts=not is_plain)
        self.links: list[Link] = []
        self.port = 0
        self._rooms = rooms
        self._tls = tls
        self._clock = clock or SystemClock()
        self._rejections = no_rejections()
        self._faults: list[Fault] = []
        self._told: set[str] = set()
        self._late: list[tuple[dict[str, str], tuple[str, str, str, str]]] = []
        self._changed = asyncio.Event()
        self._listener: asyncio.Server | None = None
        self._again: asyncio.Task[None] | None = None
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings that a channel needs to use it."""
        secret = (
            {"server_password": self.password}
            if self.password
            else {"sasl_user": USER, "sasl_password": PASSWORD}
        )
        return {
            "server": "127.0.0.1",
            "port": self.port,
            "channels": list(self._rooms),
            "line_gap_s": 0,
            # Messages to it are always complete.
            "gather_s": 0,
            **secret,
        }

    @property
    def rejections(self) -> tuple[str, ...]:
        """Every refusal because the caller broke a rule, with the rule."""
        return tuple(self._rejections)

    async def start(self, port: int = 0) -> None:
        """Listen; also again after connections were refused."""
        if self._listener is None:
            self._listener = await asyncio.start_server(
                self._serve, "127.0.0.1", port or self.port, limit=1 << 16, ssl=self._tls
            )
            self.port = self._listener.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close every connection."""
        if self._again is not None:
            self._again.cancel()
        self._stop_listening()
        await self.cut()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def point_at(self, webhook_url: str) -> None:
        """Nothing to do: clients connect by themselves."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        link = Link(self, reader, writer)
        self.links.append(link)
        await link.serve()

    def left(self, link: Link) -> None:
        """Forget a connection that has ended."""
        if link in self.links:
            self.links.remove(link)
        self.changed()

    def changed(self) -> None:
        """Wake everyone who waits for the bot."""
        self._changed.set()
        self._changed = asyncio.Event()

    def refuse(self, rule: str) -> None:
        """Record that a rule was broken."""
        self._rejections.append(rule)

    def is_taken(self, nick: str, *, but: Link) -> bool:
        """Return whether somebody has a nick."""
        others = {link.nick.lower() for link in self.links if link is not but}
        return nick.lower() in self.state.people or nick.lower() in others

    async def bot(self, room: str = "") -> Link:
        """Return the bot's connection, once there is one (and it is in a channel)."""
        while True:
            changed = self._changed
            for link in self.links:
                if link.is_ready and (not room or room.lower() in link.rooms):
                    return link
            await changed.wait()

    def tags(self, link: Link, *, id: str, account: str, is_bot: bool = False) -> dict[str, str]:  # noqa: A002
        """Return the tags of a message that the client has requested."""
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        told: dict[str, str] = {}
        if "server-time" in link.caps:
            told["time"] = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if "message-tags" in link.caps:
            told["msgid"] = id
            told |= {"bot": ""} if is_bot else {}
        if "account-tag" in link.caps and account:
            told["account"] = account
        return told

    async def say(self, said: PersonMessage) -> str:
        """Write as a person; return the message's id once it was sent to the bot.

        An old server repeats nothing; one with ids may, as bouncers do.
        """
        person = self.state.person(said)
        room = self.state.place(said, person)
        link = await self.bot(room)
        name = said.id or self.state.next_id()
        has_ids = "message-tags" in link.caps
        times = max(1, said.times) if has_ids else int(name not in self._told)
        self._told.add(name)
        text = f"{link.nick}: {said.text}" if said.mentions and room else said.text
        # If nothing can mark a bot, it writes notices, as RFC 1459 requires.
        verb = "NOTICE" if said.is_bot and not has_ids else "PRIVMSG"
        lines = []
        for _ in range(times):
            for number, line in enumerate(_typed(text)):
                own = f"{name}.{number}" if number else name
                tags = self.tags(link, id=own, account=person.account, is_bot=said.is_bot)
                lines.append((tags, (person.prefix, verb, room or link.nick, line)))
        if said.late:
            self._late += lines
        else:
            lines, self._late = [*lines, *self._late], []
            for tags, words in lines:
                link.send(*words, tags=tags)
        return name

    def posts(self, chat: str) -> tuple[Post, ...]:
        """Return the bot's lines in a chat, oldest first."""
        return self.state.posts(chat)

    def plan(self, fault: Fault) -> None:
        """Plan a fault; each refused connection means half a second without listening."""
        if fault.kind == "refuse_connection":
            self._stop_listening()
            self._drop()
            self._again = asyncio.ensure_future(self._listen_again(fault.times * _REFUSED_S))
        else:
            self._faults.append(fault)

    def fault(self, op: str) -> Fault | None:
        """Return the fault of a call, if there is one."""
        for index, fault in enumerate(self._faults):
            if fault.op in (op, "any"):
                left = msgspec.structs.replace(fault, times=fault.times - 1)
                self._faults[index : index + 1] = [left] if left.times > 0 else []
                return fault
        return None

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    async def _listen_again(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.start()

    async def cut(self) -> None:
        """Drop every connection, like a network failure."""
        self._drop()

    def _drop(self) -> None:
        for link in tuple(self.links):
            link.abort()
        self.links.clear()

    def revoke(self) -> None:
        """Invalidate the bot's password from now on, and disconnect it."""
        self.is_revoked = True
        for link in tuple(self.links):
            link.expel("Account suspended")

    def restore(self) -> None:
        """Make the bot's password valid again."""
        self.is_revoked = False

    async def kick(self, room: str, why: str = "out") -> None:
        """Kick the bot from a channel."""
        link = await self.bot(room)
        link.rooms.discard(room.lower())
        link.send("op!op@hermes.test", "KICK", room, link.nick, why)

    async def rename(self, old: str, new: str) -> None:
        """Give a person another nick, visible to the bot."""
        link = await self.bot()
        before = self.state.rename(old, new)
        link.send(before.prefix, "NICK", new)

    async def leave(self, nick: str) -> None:
        """Make a person leave the network."""
        link = await self.bot()
        person = self.state.people.pop(nick.lower())
        link.send(person.prefix, "QUIT", "gone")

    async def ping(self) -> None:
        """Send the bot a PING, as servers do."""
        (await self.bot()).send(SERVER, "PING", SERVER)


def _typed(text: str) -> list[str]:
    """Return what a person's client makes of a text: several messages, if it is long."""
    lines = [line for line in text.splitlines() if line.strip()]
    return [
        line[at : at + _TEXT_CHARS] for line in lines for at in range(0, len(line), _TEXT_CHARS)
    ]
