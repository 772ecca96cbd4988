"""The IRC channel: one connection, kept open and reopened; lines in, lines out.

Fits `PushChannel`, `LiveChannel`, `ProbingChannel`, `MeasuringChannel`, `InformedChannel` and
`ListingChannel`. It translates; retries, order and storage belong to the inbox and the outbox.
"""

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from hermes.contrib.irc.client import open_socket
from hermes.contrib.irc.format import marks_of
from hermes.contrib.irc.inbound import PLATFORM, IrcIdentity
from hermes.contrib.irc.intake import IrcIntake
from hermes.contrib.irc.line_cuts import measure
from hermes.contrib.irc.line_rate import Sleep
from hermes.contrib.irc.outbound import check_target, letter_of
from hermes.contrib.irc.roster import ACCOUNT_CHAT
from hermes.contrib.irc.session import IrcSession
from hermes.contrib.irc.settings import IrcSettings, is_loopback, read
from hermes.errors import (
    ConnectFailed,
    DeliveryRejected,
    FailureClass,
    HermesError,
    NotDelivered,
)
from hermes.message.markup.conversion import converted
from hermes.message.parts import text_of
from hermes.ports.channel import Accept, Capabilities, ChatInfo, Delivery, Receipt, Target
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.directory import ChatEntry

# How long the last received messages may take to be stored when the channel stops.
_LAST_S: Final = 1.0
_log = structlog.get_logger(__name__)


class IrcChannel:
    """One nick on one network."""

    def __init__(
        self, setup: ChannelSetup, settings: IrcSettings, *, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._setup = setup
        self._settings = settings
        self._marks = marks_of(setup.rows.markup, styled=settings.formatting)
        self._sleep = sleep
        self._intake = IrcIntake(setup.clock, sleep=sleep, gather_s=settings.gather_s)
        self._session: IrcSession | None = None
        self._taking: asyncio.Task[None] | None = None

    @property
    def name(self) -> str:
        """The platform's name."""
        return self._setup.name

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        return self._setup.capabilities

    @property
    def nick(self) -> str | None:
        """The bot's current nick."""
        return None if self._session is None else self._session.me.nick

    async def connect(self, accept: Accept) -> None:
        """Connect; return once the server has accepted the bot and answered its joins."""
        await self.disconnect()
        settings = self._settings
        if not settings.tls and not is_loopback(settings.server):
            _log.warning("irc.in_the_clear", server=settings.server)
        socket = await open_socket(settings)
        session = self._session = IrcSession(
            socket,
            settings,
            me=self._me(),
            hear=self._intake.put,
            clock=self._setup.clock,
            sleep=self._sleep,
        )
        self._taking = asyncio.create_task(self._intake.run(accept), name="irc intake")
        self._taking.add_done_callback(lambda task: self._stopped(session, task))
        await session.begin()

    def _me(self) -> IrcIdentity:
        return IrcIdentity(
            nick=self._settings.nick,
            names=(self._settings.nick,),
            connection=self._setup.make_id("irc"),
            since=self._setup.clock.now(),
            account=self._setup.account,
        )

    def _stopped(self, session: IrcSession, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("irc.intake_failed", problem=type(error).__name__)
            session.end(ConnectFailed("irc: messages can no longer be accepted"))

    async def disconnect(self) -> None:
        """Leave the network; received but unstored messages wait for the next connection."""
        session, self._session = self._session, None
        taking, self._taking = self._taking, None
        self._intake.close_all()
        if taking is not None:
            await self._hand_in_last(taking)
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)
        if session is not None:
            await session.close()
        if self._intake.waiting:
            _log.warning("irc.not_kept_yet", messages=self._intake.waiting)

    async def _hand_in_last(self, taking: "asyncio.Task[None]") -> None:
        """Give the last received messages a moment to be stored: the server will not repeat
        them.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(0 if taking.done() else _LAST_S):
                await self._intake.drain()

    async def lost(self) -> None:
        """Wait until the connection is lost; raise why."""
        await self._live().lost()

    async def probe(self) -> None:
        """Return if the server responds; also try to regain a nick that was taken."""
        session = self._live()
        await session.fence()
        session.regain()

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message, in as many lines as it needs."""
        session = self._session
        if session is None:
            raise NotDelivered("irc is not connected", FailureClass.SERVICE_UNAVAILABLE)
        target = await self._address(delivery.target.chat_id, session)
        me, marks = session.me, self._marks
        letter = await converted(
            lambda: letter_of(delivery, target, me=me, marks=marks),
            chars=len(text_of(delivery.parts)),
        )
        sent_as = await session.sender.send(letter)
        return Receipt(sent_as or self._setup.make_id("irc"))

    async def _address(self, chat_id: str, session: IrcSession) -> str:
        """Return the current nick or channel of a chat; raise if another person has it."""
        if chat_id.startswith(ACCOUNT_CHAT):
            account = check_target(chat_id.removeprefix(ACCOUNT_CHAT))
            try:
                nick = await session.nick_of(account)
            except HermesError as error:
                raise NotDelivered(str(error), FailureClass.SERVICE_UNAVAILABLE) from error
            if nick is None:
                raise NotDelivered(
                    f"irc: nobody is signed in as {account[:60]}; it will be sent later",
                    FailureClass.SERVICE_UNAVAILABLE,
                )
            return nick
        if "!" not in chat_id:
            return chat_id
        now = session.roster.nick_of_mask(chat_id)
        if now is None:
            raise DeliveryRejected(
                f"irc: the nick of {chat_id[:80]} belongs to somebody else now",
                FailureClass.INVALID_RECIPIENT,
            )
        return now

    async def directory(self) -> tuple[ChatEntry, ...]:
        """Return the channels that the bot is in."""
        session = self._live()
        return tuple(
            ChatEntry(
                platform=PLATFORM,
                chat_id=name,
                kind="channel",
                name=name,
                guild=session.me.network,
            )
            for name in sorted(session.rooms.joined)
        )

    async def chat_info(self, target: Target) -> ChatInfo:
        """Return the type of a chat, which its name shows."""
        session = self._session
        is_channel = session is not None and session.me.channel_of(target.chat_id) is not None
        return ChatInfo(
            chat_id=target.chat_id,
            chat_type="channel" if is_channel else "dm",
            name=target.chat_id,
        )

    def measure(self, text: str) -> int:
        """Return the size of a Markdown text in lines, as bytes."""
        return measure(text, self._marks)

    def _live(self) -> IrcSession:
        if self._session is None:
            raise ConnectFailed("irc is not connected")
        return self._session


def make(setup: ChannelSetup) -> IrcChannel:
    """Return the channel of one configured nick."""
    table = {**setup.settings, "ipv4_only": setup.ipv4_only}
    table["ca_file"] = table.get("ca_file") or setup.ca_bundle
    return IrcChannel(setup, read(table))
