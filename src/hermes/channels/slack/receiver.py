"""Handles everything that arrives from Slack, by socket or webhook: read, stored in order,
acknowledged.

Between the two ways in (Socket Mode and signed webhooks, through `channel.py`) and the inbox.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from hermes.channel_kit.intake import Intake
from hermes.channel_kit.kept_map import KeptMap
from hermes.channel_kit.names import Names
from hermes.channel_kit.socket_wire import SocketFrame
from hermes.channels.slack import inbound
from hermes.channels.slack.inbound import SlackIdentity, is_own, message_id
from hermes.channels.slack.wire import (
    Frame,
    WireCall,
    WireCommand,
    WireInteraction,
    WireMessage,
    WirePosted,
    WireReaction,
    decode,
    decode_event,
    read_form,
)
from hermes.errors import BadRequest, StoreError, TryLater
from hermes.message.event import MessageEvent
from hermes.ports.channel import HttpRequest, TellArrived
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import Clock

_MOST_THREADS: Final = 10_000
_GONE: Final = frozenset({"app_uninstalled", "tokens_revoked"})
_log = structlog.get_logger(__name__)


class Threads:
    """The threads in which the bot takes part, by their first message; also before a restart."""

    def __init__(self, state: PlatformState) -> None:
        self._kept = KeptMap(state, "thread/", most=_MOST_THREADS)

    async def having(self, message: WireMessage) -> tuple[str, ...]:
        """Return the name of a message's thread if it is followed."""
        if message.thread_ts is None:
            return ()
        name = message_id(message.channel, message.thread_ts)
        return () if await self._kept.get(name) is None else (name,)

    async def follow(self, channel: str, thread_ts: str) -> None:
        """Receive the messages of a thread from now on; it is durable when this returns."""
        name = message_id(channel, thread_ts)
        if await self._kept.get(name) is None:
            await self._kept.put(name, "")


class Receiver:
    """Passes messages from Slack to the inbox; `verify` asks Slack whether the token is still good."""

    def __init__(
        self,
        intake: Intake,
        me: SlackIdentity,
        *,
        names: Names,
        threads: Threads,
        clock: Clock,
        verify: Callable[[], Awaitable[None]],
        arrived: TellArrived | None = None,
    ) -> None:
        self._intake = intake
        self._me = me
        self._names = names
        self._threads = threads
        self._clock = clock
        self._verify = verify
        self._arrived = arrived

    async def take(self, held: SocketFrame) -> bool:
        """Handle one envelope; return whether to acknowledge it."""
        frame = decode(held.payload, Frame)
        payload = bytes(frame.payload)
        if frame.type == "events_api":
            await self._call(decode(payload, WireCall))
        elif frame.type == "slash_commands":
            await self._acted(decode(payload, WireCommand), raw=payload)
        elif frame.type == "interactive":
            await self._acted(decode(payload, WireInteraction), raw=payload)
        return True

    async def take_call(self, request: HttpRequest) -> None:
        """Handle one webhook call; raises `BadRequest` for one that cannot be read."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        retry = request.headers.get("x-slack-retry-num")
        if retry is not None:
            reason = request.headers.get("x-slack-retry-reason", "")
            _log.info("slack.sent_again", number=retry[:10], reason=reason[:40])
        if kind == "application/json":
            await self._call(decode(request.body, WireCall))
        elif kind == "application/x-www-form-urlencoded":
            await self._acted(read_form(request.body), raw=b"")
        else:
            raise BadRequest(f"slack sends JSON or a form, found {kind[:60]!r}")

    async def _call(self, call: WireCall) -> None:
        """Handle a call of the Events API."""
        raw = bytes(call.event)
        if call.type != "event_callback" or not raw:
            return
        found = decode_event(raw)
        if isinstance(found, WirePosted) or (
            isinstance(found, WireMessage) and is_own(found, self._me)
        ):
            await self._own(found)
        elif isinstance(found, WireMessage):
            await self._message(found, team=call.team_id, raw=raw)
        elif isinstance(found, WireReaction):
            await self._keep(inbound.reaction_event(found, self._me, team=call.team_id, raw=raw))
        elif found in _GONE:
            await self._verify()

    async def _acted(self, found: WireCommand | WireInteraction, *, raw: bytes) -> None:
        """Handle a slash command or a pressed button."""
        now = self._clock.now()
        if isinstance(found, WireCommand):
            await self._keep(inbound.command_event(found, self._me, at=now, raw=raw))
        else:
            await self._keep(inbound.interaction_event(found, self._me, at=now, raw=raw))

    async def _own(self, own: WireMessage | WirePosted) -> None:
        """Tell of a message of the bot's own that it has arrived."""
        told = inbound.arrived_of(own) if is_own(own, self._me) else None
        if told is None or self._arrived is None:
            return
        try:
            await self._arrived(told)
        except (StoreError, TryLater) as error:
            # The history shows it, too.
            _log.warning("slack.arrival_not_noted", problem=str(error)[:200])

    async def _message(self, message: WireMessage, *, team: str | None, raw: bytes) -> None:
        async with self._intake.turn(message.channel):
            names = await self._names.of(inbound.people_of(message, self._me))
            followed = await self._threads.having(message)
            event = inbound.message_event(
                message, self._me, names=names, followed=followed, team=team, raw=raw
            )
            if event is not None:
                await self._take_now(event)

    async def _keep(self, event: MessageEvent | None) -> None:
        if event is not None:
            async with self._intake.turn(event.source.chat_id):
                await self._take_now(event)

    async def _take_now(self, event: MessageEvent) -> None:
        kept = await self._intake.take_now(event)
        thread = event.source.thread_id
        if kept is not None and event.addressed and thread is not None:
            await self._threads.follow(event.source.chat_id, thread)
