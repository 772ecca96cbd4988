"""One connection: signs in, joins its channels, and passes every line to its handler.

Between the socket and the parts that know what lines mean; the end is reported once, to all who
wait.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final

import msgspec
import structlog

from hermes.contrib.irc.client import Socket
from hermes.contrib.irc.inbound import IrcIdentity, ctcp_of, message_event
from hermes.contrib.irc.line_rate import LineRate, Sleep
from hermes.contrib.irc.rooms import Rooms
from hermes.contrib.irc.roster import NickRoster
from hermes.contrib.irc.sender import Sender
from hermes.contrib.irc.settings import IrcSettings
from hermes.contrib.irc.sign_in import IrcSignIn
from hermes.contrib.irc.wire import IrcLine, fold, read_line, read_support, write_line
from hermes.errors import ConnectFailed, HermesError
from hermes.message.event import MessageEvent
from hermes.ports.clock import Clock

_VERSION: Final = "\x01VERSION Hermes, a gateway between people and models\x01"
_FAREWELL: Final = write_line("QUIT", "Hermes is going")
_PLAYBACKS: Final = frozenset({"chathistory", "draft/chathistory", "znc.in/playback"})
_WHO_TOKEN: Final = "42"
_WORDS: Final = 200
_MOST_ASIDES: Final = 100
# For so long a nick is assumed to be the same person's; then the server is asked.
_PROVEN_S: Final = 60.0
_log = structlog.get_logger(__name__)
Hear = Callable[[MessageEvent], Awaitable[None]]


class IrcSession:
    """One connection to the server, from its first line to its last."""

    def __init__(
        self,
        socket: Socket,
        settings: IrcSettings,
        *,
        me: IrcIdentity,
        hear: Hear,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._socket = socket
        self._settings = settings
        self._hear = hear
        self._clock = clock
        self._numbers = count(1)
        self._sign_in = IrcSignIn(settings)
        self._ready: asyncio.Future[None] = loop.create_future()
        self._over: asyncio.Future[None] = loop.create_future()
        self._fences: dict[str, asyncio.Future[None]] = {}
        self._whois: dict[str, asyncio.Future[None]] = {}
        self._playbacks: set[str] = set()
        self._asides: set[asyncio.Task[None]] = set()
        self._reader: asyncio.Task[None] | None = None
        self.me = me
        self.roster = NickRoster(settings.trust)
        pace = LineRate(clock, burst=settings.burst, gap_s=settings.line_gap_s, sleep=sleep)
        self._pace = pace
        self.sender = Sender(socket.write, pace=pace, answer_s=settings.answer_s, has_labels=False)
        self.rooms = Rooms(settings.channels, settings.channel_keys, write=self._paced, sleep=sleep)
        self._takers: dict[str, Callable[[IrcLine], Awaitable[None]]] = {
            "PING": self._ping,
            "ERROR": self._error,
            "PRIVMSG": self._message,
            "NICK": self._nick,
            "QUIT": self._quit,
            "JOIN": self._join,
            "ACCOUNT": self._account,
            "CHGHOST": self._other_host,
            "396": self._other_host,
            "CAP": self._capability,
            "BATCH": self._batch,
            "PONG": self._pong,
            "005": self._supports,
            "330": self._whois_account,
            "318": self._whois_end,
            "354": self._who,
        }

    async def begin(self) -> None:
        """Sign in and join; return once the server has answered everything."""
        self._reader = asyncio.create_task(self._read(), name="irc reader")
        for line in self._sign_in.begin():
            await self._socket.write(line)
        await self._ready
        enabled = self._sign_in.enabled
        self.sender.has_labels = {"labeled-response", "echo-message", "message-tags"} <= enabled
        await self._introduce()
        await self.rooms.join_all()
        await self.fence()

    async def _introduce(self) -> None:
        settings, support = self._settings, self._sign_in.support
        if settings.nickserv and not self._sign_in.is_signed_in:
            await self._paced(
                write_line(
                    "PRIVMSG",
                    settings.nickserv,
                    f"IDENTIFY {settings.sasl_user} {settings.sasl_password}",
                )
            )
        mode = support.get("BOT", "")
        if mode:
            await self._paced(write_line("MODE", self.me.nick, f"+{mode[0]}"))

    async def fence(self) -> None:
        """Return once the server has processed everything that was written before."""
        token = f"fence-{next(self._numbers)}"
        answered = self._fences[token] = asyncio.get_running_loop().create_future()
        try:
            await self._socket.write(write_line("PING", token))
            async with asyncio.timeout(self._settings.answer_s):
                await answered
        except TimeoutError:
            raise ConnectFailed(
                f"irc: the server has not answered a PING within {self._settings.answer_s:g} s"
            ) from None
        finally:
            self._fences.pop(token, None)

    def regain(self) -> None:
        """Request the configured nick, if the bot had to take another."""
        wanted = self._settings.nick
        if self.me.is_me(wanted):
            return
        if self._settings.nickserv:
            self._aside(write_line("PRIVMSG", self._settings.nickserv, f"REGAIN {wanted}"))
        self._aside(write_line("NICK", wanted))

    async def nick_of(self, account: str) -> str | None:
        """Return a nick that is signed in as `account`; ask the server if necessary."""
        now = self._clock.monotonic()
        known = self.roster.nick_of_account(account, since=now - _PROVEN_S)
        if known is not None:
            return known
        for nick in dict.fromkeys((self.roster.nick_of_account(account), account)):
            if nick is not None:
                await self._ask_about(nick)
            found = self.roster.nick_of_account(account, since=now)
            if found is not None:
                return found
        return None

    async def _ask_about(self, nick: str) -> None:
        """Ask the server who a nick is; its answer goes into the roster."""
        name = fold(nick, self.me.mapping)
        told = self._whois.setdefault(name, asyncio.get_running_loop().create_future())
        await self._paced(write_line("WHOIS", nick))
        try:
            async with asyncio.timeout(self._settings.answer_s):
                await asyncio.shield(told)
        except TimeoutError:
            _log.info("irc.whois_unanswered", nick=nick[:60])
        finally:
            self._whois.pop(name, None)

    async def lost(self) -> None:
        """Wait until the connection is lost; raise why."""
        await asyncio.shield(self._over)

    def end(self, error: HermesError) -> None:
        """Notify everyone who waits that the connection has ended, and why."""
        gone = error if isinstance(error, ConnectFailed) else ConnectFailed(str(error))
        self.sender.gone(gone)
        for waiting in (*self._fences.values(), *self._whois.values()):
            _fail(waiting, gone)
        _fail(self._ready, error)
        _fail(self._over, error)

    async def close(self) -> None:
        """Leave, and end every task."""
        await self.rooms.close()
        self.end(ConnectFailed("irc: the connection was closed"))
        tasks = [*self._asides, *([] if self._reader is None else [self._reader])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._socket.close(_FAREWELL)

    async def _read(self) -> None:
        try:
            while (raw := await self._socket.read()) is not None:
                line = read_line(raw)
                if line is not None:
                    await self._take(line)
            self.end(ConnectFailed("irc: the server closed the connection"))
        except HermesError as error:
            self.end(error)
        # Boundary: a fault here ends the connection, which is then reopened.
        except Exception:  # noqa: BLE001
            _log.exception("irc.fault")
            self.end(ConnectFailed("irc: a line of the server could not be processed"))

    async def _take(self, line: IrcLine) -> None:
        self.roster.saw(line, self._clock.monotonic())
        if "!" in line.prefix and self.me.is_me(line.nick) and line.command != "NICK":
            self._am(prefix=line.prefix)
        if not self._sign_in.is_done:
            await self._go_on(line)
        is_labelled = "label" in line.tags
        if is_labelled or not self.rooms.heard(line, self.me):
            self.sender.heard(line, self.me)
        taker = self._takers.get(line.command)
        if taker is not None:
            await taker(line)

    async def _go_on(self, line: IrcLine) -> None:
        """Process a line while signing in."""
        for answer in self._sign_in.take(line):
            await self._socket.write(answer)
        if self._sign_in.is_welcome and not self.me.is_me(self._sign_in.nick):
            self._am(nick=self._sign_in.nick)
        if self._sign_in.is_done:
            _log.info(
                "irc.signed_in", nick=self.me.nick, capabilities=sorted(self._sign_in.enabled)
            )
            _done(self._ready)

    def _am(self, **changes: str) -> None:
        self.me = msgspec.structs.replace(self.me, **changes)
        names = dict.fromkeys((self.me.nick, self._settings.nick))
        self.me = msgspec.structs.replace(self.me, names=tuple(names))

    async def _supports(self, line: IrcLine) -> None:
        told = read_support(line.params)
        self.roster.mapping = told.get("CASEMAPPING", self.me.mapping)
        self.me = msgspec.structs.replace(
            self.me,
            mapping=self.roster.mapping,
            kinds=told.get("CHANTYPES", self.me.kinds) or self.me.kinds,
            statuses=told.get("STATUSMSG", self.me.statuses),
            network=told.get("NETWORK", self.me.network),
        )

    async def _ping(self, line: IrcLine) -> None:
        await self._socket.write(write_line("PONG", line.last))

    async def _pong(self, line: IrcLine) -> None:
        waiting = self._fences.get(line.last)
        if waiting is not None:
            _done(waiting)

    async def _error(self, line: IrcLine) -> None:
        told = line.last[:_WORDS]
        hint = "; lines were sent too fast: raise line_gap_s" if "flood" in told.lower() else ""
        raise ConnectFailed(f"irc: the server closed the connection: {told}{hint}")

    async def _message(self, line: IrcLine) -> None:
        if "account-tag" in self._sign_in.enabled and "account" not in line.tags:
            self.roster.account(line.nick, "*")
        is_nameless = not line.tags.get("msgid")
        if is_nameless and line.tags.get("batch", "") in self._playbacks:
            return
        request = ctcp_of(line)
        if request is not None and request.name == "VERSION" and self.me.is_me(line.at(0)):
            await self._version(line)
        event = message_event(
            line, self.me, roster=self.roster, number=next(self._numbers), now=self._clock.now()
        )
        if event is not None:
            await self._hear(event)

    async def _version(self, line: IrcLine) -> None:
        # Only if there is room: nobody can make the bot flood.
        if line.nick and not self.me.is_me(line.nick) and self._pace.try_take():
            await self._socket.write(write_line("NOTICE", line.nick, _VERSION))

    async def _nick(self, line: IrcLine) -> None:
        if self.me.is_me(line.nick):
            prefix = f"{line.at(0)}!{line.prefix.partition('!')[2]}"
            self._am(nick=line.at(0), prefix=prefix if "@" in prefix else "")
            return
        self.roster.renamed(line)
        if fold(line.nick, self.me.mapping) == fold(self._settings.nick, self.me.mapping):
            self.regain()

    async def _quit(self, line: IrcLine) -> None:
        self.roster.gone(line.nick)
        if fold(line.nick, self.me.mapping) == fold(self._settings.nick, self.me.mapping):
            self.regain()

    async def _join(self, line: IrcLine) -> None:
        if "extended-join" in self._sign_in.enabled and len(line.params) > 1:
            self.roster.account(line.nick, line.at(1), self._clock.monotonic())
        is_asked = "WHOX" in self._sign_in.support and self._settings.trust == "account"
        if self.me.is_me(line.nick) and is_asked:
            self._aside(write_line("WHO", line.at(0), f"%tna,{_WHO_TOKEN}"))

    async def _account(self, line: IrcLine) -> None:
        self.roster.account(line.nick, line.at(0), self._clock.monotonic())

    async def _other_host(self, line: IrcLine) -> None:
        if line.command == "396" or self.me.is_me(line.nick):
            self._am(prefix="")

    async def _capability(self, line: IrcLine) -> None:
        if line.at(1).upper() == "DEL" and self._sign_in.is_done:
            self._sign_in.take(line)
            self.sender.has_labels = (
                self.sender.has_labels
                and {"labeled-response", "echo-message"} <= self._sign_in.enabled
            )

    async def _batch(self, line: IrcLine) -> None:
        if line.at(0).startswith("+") and line.at(1) in _PLAYBACKS:
            self._playbacks.add(line.at(0)[1:])
        elif line.at(0).startswith("-"):
            self._playbacks.discard(line.at(0)[1:])

    async def _whois_account(self, line: IrcLine) -> None:
        self.roster.account(line.at(1), line.at(2), self._clock.monotonic())

    async def _whois_end(self, line: IrcLine) -> None:
        waiting = self._whois.get(fold(line.at(1), self.me.mapping))
        if waiting is not None:
            _done(waiting)

    async def _who(self, line: IrcLine) -> None:
        if line.at(1) == _WHO_TOKEN:
            self.roster.account(line.at(2), line.at(3), self._clock.monotonic())

    def _aside(self, line: bytes) -> None:
        """Write a line when there is room for it; reading continues meanwhile."""
        if len(self._asides) < _MOST_ASIDES:
            task = asyncio.create_task(self._written_aside(line), name="irc aside")
            self._asides.add(task)
            task.add_done_callback(self._asides.discard)

    async def _written_aside(self, line: bytes) -> None:
        try:
            await self._paced(line)
        except ConnectFailed as error:
            self.end(error)

    async def _paced(self, line: bytes) -> None:
        """Write a line that counts towards the flood limit."""
        await self._pace.take()
        await self._socket.write(line)


def _done(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)


def _fail(waiting: "asyncio.Future[None]", error: HermesError) -> None:
    if not waiting.done():
        waiting.set_exception(error)
        # Retrieve the exception, so that asyncio does not warn.
        waiting.exception()
