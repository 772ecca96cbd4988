"""Handles everything that arrives from Slack, by socket or webhook: read, stored in order,
acknowledged.

Between the two ways in (`socket_mode.py`, and webhooks through `channel.py`) and the inbox.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakValueDictionary

import structlog

from hermes.channel_kit.intake import Sleep, patient
from hermes.channel_kit.kept_map import KeptMap
from hermes.channels.slack.inbound import (
    SlackIdentity,
    command_event,
    interaction_event,
    is_own,
    message_event,
    people_of,
    read_form,
    thread_name,
)
from hermes.channels.slack.names import UserNames
from hermes.channels.slack.wire import (
    Frame,
    WireCall,
    WireCommand,
    WireInteraction,
    WireMessage,
    decode,
    decode_message,
    kind_of,
)
from hermes.errors import HermesError, RateLimited, Refused, TryLater
from hermes.message.event import MessageEvent
from hermes.ports.channel import Accept
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import Clock

_MOST_THREADS: Final = 10_000
_GONE: Final = frozenset({"app_uninstalled", "tokens_revoked"})
_log = structlog.get_logger(__name__)


class Threads:
    """The threads in which the bot takes part, also before a restart."""

    def __init__(self, state: PlatformState) -> None:
        self._kept = KeptMap(state, "thread/", most=_MOST_THREADS)
        # What this process has written; each thread is written once.
        self._written: OrderedDict[str, None] = OrderedDict()

    async def has(self, name: str) -> bool:
        """Return whether a thread is followed."""
        return name in self._written or await self._kept.get(name) is not None

    async def follow(self, channel: str, thread_ts: str) -> None:
        """Receive the messages of a thread from now on; it is durable when this returns."""
        name = thread_name(channel, thread_ts)
        if name not in self._written:
            await self._kept.put(name, "")
        self._written[name] = None
        self._written.move_to_end(name)
        while len(self._written) > _MOST_THREADS:
            self._written.popitem(last=False)


class Receiver:
    """Passes messages from Slack to the inbox.

    `waits` means that it holds a message until the inbox accepts it; otherwise Slack sends it
    again.
    """

    def __init__(
        self,
        accept: Accept,
        me: SlackIdentity,
        *,
        names: UserNames,
        threads: Threads,
        clock: Clock,
        verify: Callable[[], Awaitable[None]],
        waits: bool = False,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._accept = patient(accept, sleep=sleep, on_wait=_log_wait) if waits else accept
        self._me = me
        self._names = names
        self._threads = threads
        self._clock = clock
        self._verify = verify
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def take(self, frame: Frame) -> bool:
        """Handle one envelope; return whether to acknowledge it.

        What can never be accepted is acknowledged as well: sending it again would not help.
        """
        payload = bytes(frame.payload)
        try:
            if frame.type == "events_api":
                await self.call(decode(payload, WireCall))
            elif frame.type == "slash_commands":
                await self.command(decode(payload, WireCommand), raw=payload)
            elif frame.type == "interactive":
                await self.interaction(decode(payload, WireInteraction), raw=payload)
        except Refused as error:
            _log.warning("slack.refused", code=error.code, problem=str(error)[:200])
        except HermesError as error:
            _log_wait(error)
            return False
        return True

    async def form(self, body: bytes) -> None:
        """Handle a form-encoded call."""
        found = read_form(body)
        if isinstance(found, WireCommand):
            await self.command(found, raw=b"")
        else:
            await self.interaction(found, raw=b"")

    async def call(self, call: WireCall) -> None:
        """Handle a call of the Events API."""
        raw = bytes(call.event)
        if call.type != "event_callback" or not raw:
            return
        message = decode_message(raw)
        if message is not None:
            await self._message(message, team=call.team_id, raw=raw)
        elif kind_of(raw) in _GONE:
            await self._verify()

    async def command(self, command: WireCommand, *, raw: bytes) -> None:
        """Handle a slash command."""
        event = command_event(command, self._me, at=self._clock.now(), raw=raw)
        async with self._turn(event.source.chat_id):
            await self._keep(event)

    async def interaction(self, pressed: WireInteraction, *, raw: bytes) -> None:
        """Handle a pressed button."""
        event = interaction_event(pressed, self._me, at=self._clock.now(), raw=raw)
        if event is not None:
            async with self._turn(event.source.chat_id):
                await self._keep(event)

    def _turn(self, chat_id: str) -> asyncio.Lock:
        """Return the lock of a chat, so that no later message overtakes a waiting one."""
        return self._turns.setdefault(chat_id, asyncio.Lock())

    async def _message(self, message: WireMessage, *, team: str | None, raw: bytes) -> None:
        if is_own(message, self._me):
            return
        async with self._turn(message.channel):
            names = await self._names.of(people_of(message, self._me))
            followed = await self._followed(message)
            event = message_event(
                message, self._me, names=names, followed=followed, team=team, raw=raw
            )
            if event is not None:
                await self._keep(event)

    async def _followed(self, message: WireMessage) -> tuple[str, ...]:
        """Return the name of the message's thread if the bot takes part in it."""
        if message.thread_ts is None:
            return ()
        name = thread_name(message.channel, message.thread_ts)
        return (name,) if await self._threads.has(name) else ()

    async def _keep(self, event: MessageEvent) -> None:
        try:
            await self._accept(event)
        except RateLimited as error:
            # Slack disables an app for everyone if it does not acknowledge most of its events.
            _log.warning("slack.passed_over", id=event.external_id, code=error.code)
            return
        thread = event.source.thread_id
        if event.addressed and thread is not None:
            await self._threads.follow(event.source.chat_id, thread)


def _log_wait(error: HermesError) -> None:
    if isinstance(error, TryLater):
        _log.info("slack.not_now", code=error.code)
    else:
        _log.error("slack.not_kept", code=error.code, problem=str(error)[:200])
