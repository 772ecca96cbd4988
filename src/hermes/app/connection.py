"""One push channel's connection: connects, watches, probes, and reconnects with growing delays.

Between the composition root and the channel. A `ConfigurationError` is final; a channel that is
connected but receives nothing is reported and, if it holds a connection, reconnected.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

import msgspec
import structlog

from hermes.control.status import ChannelStatus, ConnectionState
from hermes.errors import ConfigurationError, HermesError
from hermes.message.channel_name import account_of, at_account
from hermes.message.event import MessageEvent
from hermes.outbox.alarm import Sleep
from hermes.outbox.traffic import Traffic
from hermes.ports.channel import (
    Accept,
    Acceptance,
    Channel,
    IdentifiedChannel,
    LiveChannel,
    ProbingChannel,
    PushChannel,
)
from hermes.ports.clock import Clock

CONNECT_S = 30.0
_DISCONNECT_S = 10.0
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 120.0
# After a connection of this length, the next failure starts again with short delays.
_STOOD_S = 60.0
# The longest time until a report: one probe skipped because something had just arrived, then 40 +
# 40 + 10 + 10 + 10 seconds, under two minutes.
_PROBE_EVERY_S = 40.0
_PROBE_TIMEOUT_S = 10.0
_PROBE_AGAIN_S = 10.0
_DEAF_AFTER = 2
_RECONNECT_AFTER = 3
_JITTER = 0.25
_log = structlog.get_logger(__name__)

Answer = TypeVar("Answer")
Chance = Callable[[], float]


class CredentialClaim(Protocol):
    """The right to use a credential, held by one process of the machine at a time."""

    def take(self) -> None:
        """Take it; raise a `CredentialInUse` that names the holder, and is tried again."""
        ...

    def release(self) -> None:
        """Release it."""
        ...


class Listener(Protocol):
    """Is notified of the state of a channel."""

    def connected(self, channel: PushChannel) -> None:
        """The connection is verified: replies may be sent."""
        ...

    def lost(self, name: str) -> None:
        """The connection is lost: nothing may be sent."""
        ...

    def changed(self) -> None:
        """Something that status shows has changed."""
        ...


class ChannelConnection:
    """One channel and its state; `run` is its task."""

    def __init__(
        self,
        channel: Channel,
        *,
        accept: Accept,
        listener: Listener,
        traffic: Traffic,
        clock: Clock,
        sleep: Sleep,
        chance: Chance,
        right: CredentialClaim | None = None,
        plugin: str | None = None,
        connect_timeout_s: float = CONNECT_S,
    ) -> None:
        self._channel = channel
        self._connect_timeout_s = connect_timeout_s
        self._accept = accept
        self._listener = listener
        self._traffic = traffic
        self._clock = clock
        self._sleep = sleep
        self._chance = chance
        self._right = right
        self._plugin = plugin
        self._state: ConnectionState = "starting"
        self._note: str | None = None
        self._code: str | None = None
        self._is_deaf = False
        self._was_tried = asyncio.Event()

    async def tried(self) -> None:
        """Wait until the first try to connect has ended, well or badly or by a stop."""
        await self._was_tried.wait()

    def status(self) -> ChannelStatus:
        """Return the state of the channel."""
        name = self._channel.name
        flow = self._traffic.of(name)
        return ChannelStatus(
            name=name,
            state=self._state,
            plugin=self._plugin,
            note=self._note,
            code=self._code,
            retryable=None if self._code is None else self._state != "fatal",
            deaf=self._is_deaf,
            last_in=flow.last_in,
            last_out=flow.last_out,
        )

    async def run(self) -> None:
        """Connect and stay connected; ends when the error is final or nothing can be watched."""
        try:
            await self._keep_connected()
        finally:
            # Whoever waits for the first try waits no longer, also if it was cancelled.
            self._was_tried.set()

    async def _keep_connected(self) -> None:
        wait_s = _FIRST_WAIT_S
        while True:
            began = self._clock.monotonic()
            try:
                await self._connect()
                if not self._can_be_watched():
                    return
                await self._stand()
            except ConfigurationError as error:
                await self._end("fatal", error)
                return
            except (HermesError, TimeoutError, OSError) as error:
                await self._end("disconnected", error)
            # Boundary: the task of one channel survives an error in the channel's code.
            except Exception as error:  # noqa: BLE001
                _log.exception("channel_fault", channel=self._channel.name)
                await self._end("disconnected", error)
            stood = self._clock.monotonic() - began >= _STOOD_S
            wait_s = _FIRST_WAIT_S if stood else wait_s
            await self._sleep(wait_s * (1 + _JITTER * (2 * self._chance() - 1)))
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    async def close(self) -> None:
        """Disconnect a connected or connecting channel, and release the credential."""
        if self._state in {"connected", "starting"}:
            await self._disconnect()
        if self._right is not None:
            self._right.release()

    async def _connect(self) -> None:
        channel, name = self._channel, self._channel.name
        if self._right is not None:
            await asyncio.to_thread(self._right.take)
        await self._within(self._connect_timeout_s, channel.connect(self._heard), "connect")
        self._stands("connected")
        if isinstance(channel, PushChannel):
            self._listener.connected(channel)
        self._listener.changed()
        self._was_tried.set()
        _log.info("channel_connected", channel=name)

    def _can_be_watched(self) -> bool:
        return isinstance(self._channel, LiveChannel) or self._probe_every() > 0

    async def _heard(self, event: MessageEvent) -> Acceptance:
        self._traffic.came(self._channel.name)
        return await self._accept(_came_by(event, self._channel.name))

    async def _stand(self) -> None:
        """Watch the connection; raise what ended it."""
        # Any: the watchers' results do not matter, only what they raise.
        watchers: list[asyncio.Task[Any]] = []
        if isinstance(self._channel, LiveChannel):
            watchers.append(asyncio.create_task(_gone(self._channel)))
        if self._probe_every() > 0:
            watchers.append(asyncio.create_task(self._probe_on()))
        try:
            done, _ = await asyncio.wait(watchers, return_when=asyncio.FIRST_COMPLETED)
            for watcher in done:
                watcher.result()
        finally:
            for watcher in watchers:
                watcher.cancel()
            await asyncio.gather(*watchers, return_exceptions=True)

    def _probe_every(self) -> float:
        wanted = self._channel.capabilities.probe_s
        return min(wanted, _PROBE_EVERY_S) if isinstance(self._channel, ProbingChannel) else 0.0

    async def _probe_on(self) -> None:
        """Probe again and again whether the channel still receives; raise if it fails for long."""
        failed = 0
        while True:
            is_doubtful = 0 < failed < _DEAF_AFTER
            await self._sleep(_PROBE_AGAIN_S if is_doubtful else self._probe_every())
            try:
                await self._probe()
            except ConfigurationError:
                raise
            except (HermesError, TimeoutError, OSError) as error:
                failed += 1
                if failed == _DEAF_AFTER:
                    self._deaf(error)
                if failed >= _RECONNECT_AFTER and isinstance(self._channel, LiveChannel):
                    raise
            else:
                failed = 0
                self._hears()

    async def _probe(self) -> None:
        last_in = self._traffic.of(self._channel.name).last_in
        is_heard = last_in is not None and self._clock.now() - last_in < self._probe_every()
        if isinstance(self._channel, ProbingChannel) and not is_heard:
            await self._within(_PROBE_TIMEOUT_S, self._channel.probe(), "a probe")

    def _deaf(self, error: Exception) -> None:
        self._is_deaf = True
        self._note = f"connected, but not receiving: {_words(error, self._channel.name)}"
        self._code = _code(error)
        _log.error(
            "channel_deaf", channel=self._channel.name, problem=_words(error, self._channel.name)
        )
        self._listener.changed()

    def _hears(self) -> None:
        if self._is_deaf:
            self._stands("connected")
            _log.info("channel_hears_again", channel=self._channel.name)
            self._listener.changed()

    async def _end(self, state: ConnectionState, error: Exception) -> None:
        """Record what ended the connection or the attempt."""
        was_connected = self._state == "connected"
        self._stands(state, error)
        name, problem = self._channel.name, _words(error, self._channel.name)
        if was_connected:
            self._listener.lost(name)
        # A connect that failed half-way may have left something open.
        await self._disconnect()
        if state == "fatal" and self._right is not None:
            self._right.release()
        if was_connected and state != "fatal":
            _log.warning("channel_lost", channel=name, problem=problem)
        else:
            _log.error("channel_failed", channel=name, state=state, problem=problem)
        self._listener.changed()
        self._was_tried.set()

    def _stands(self, state: ConnectionState, error: Exception | None = None) -> None:
        self._state = state
        self._is_deaf = False
        self._note = self._identity() if error is None else _words(error, self._channel.name)
        self._code = None if error is None else _code(error)

    def _identity(self) -> str | None:
        """Return by which key people recognise a connected channel's device."""
        if self._state != "connected" or not isinstance(self._channel, IdentifiedChannel):
            return None
        return self._channel.identity or None

    async def _disconnect(self) -> None:
        try:
            await self._within(_DISCONNECT_S, self._channel.disconnect(), "disconnect")
        # Boundary: a channel that fails to disconnect must not prevent the next attempt.
        except Exception:  # noqa: BLE001
            _log.exception("channel_not_ended", channel=self._channel.name)

    async def _within(
        self, seconds: float, call: Coroutine[Any, Any, Answer] | Awaitable[Answer], verb: str
    ) -> Answer:
        """Await a call of the channel, with a time limit by the clock that was passed in."""
        work = asyncio.ensure_future(call)
        nap = asyncio.ensure_future(self._sleep(seconds))
        try:
            await asyncio.wait({work, nap}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            raise TimeoutError(f"{verb} had no answer in {seconds:g} s")
        finally:
            work.cancel()
            nap.cancel()
            await asyncio.gather(work, nap, return_exceptions=True)


class _ConnectionEnded(HermesError):
    """The channel reports that its connection is lost, without a reason."""

    code = "connection_ended"


def _came_by(event: MessageEvent, channel: str) -> MessageEvent:
    """Return an event with the name of its channel: the adapter may know only that of the platform.

    A reply goes where its event says that it came from, so no other bot can send it.
    """
    if event.source.platform == channel or not account_of(channel):
        return event
    source = msgspec.structs.replace(event.source, platform=channel)
    return msgspec.structs.replace(event, source=source, account=account_of(channel))


async def _gone(channel: LiveChannel) -> None:
    await channel.lost()
    raise _ConnectionEnded("the connection has ended")


def _words(error: Exception, channel: str) -> str:
    """Return what an error says, with the settings of the channel's own account."""
    return at_account(str(error) or type(error).__name__, channel)


def _code(error: Exception) -> str:
    if isinstance(error, HermesError):
        return error.code
    return "timeout" if isinstance(error, TimeoutError) else "fault"
