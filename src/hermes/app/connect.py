"""Connects push platforms concurrently: one that hangs or fails does not delay the others."""

import asyncio
import random
from collections.abc import Callable, Mapping

import msgspec

from hermes.app.connection import CONNECT_S, Chance, ChannelConnection, CredentialClaim
from hermes.app.lifecycle import stop_all
from hermes.app.unusable import UnusableChannel
from hermes.control.status import ChannelStatus
from hermes.errors import TryLater
from hermes.ops.metrics import MetricReader
from hermes.outbox.alarm import Sleep
from hermes.outbox.traffic import Traffic
from hermes.ports.channel import Accept, Channel, PushChannel
from hermes.ports.clock import Clock


class Connections:
    """The push channels of a gateway and the state of each.

    `on_connected` allows a platform's replies to be sent, `on_lost` holds them back; `rights` are
    the credentials that only one process of this machine may use, by platform; `plugins` are the
    packages of platforms that are not built in; `breaker` returns until when nothing is sent to a
    platform, and after how many failures.
    """

    def __init__(
        self,
        channels: Mapping[str, Channel],
        *,
        accept: Accept,
        on_connected: Callable[[PushChannel], None],
        on_lost: Callable[[str], None],
        on_change: Callable[[tuple[ChannelStatus, ...]], None],
        traffic: Traffic,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        chance: Chance = random.random,
        rights: Mapping[str, CredentialClaim] | None = None,
        plugins: Mapping[str, str] | None = None,
        connect_timeouts_s: Mapping[str, float] | None = None,
        breaker: Callable[[str], tuple[float, int] | None] = lambda _platform: None,
    ) -> None:
        self.connected = on_connected
        self.lost = on_lost
        self._on_change = on_change
        self._breaker = breaker
        self._plugins = plugins or {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._replacing = asyncio.Lock()
        self._is_stopped = False

        def make(channel: Channel, right: CredentialClaim | None) -> ChannelConnection:
            return ChannelConnection(
                channel,
                accept=accept,
                listener=self,
                traffic=traffic,
                clock=clock,
                sleep=sleep,
                chance=chance,
                right=right,
                plugin=self._plugins.get(channel.name),
                connect_timeout_s=(connect_timeouts_s or {}).get(channel.name, CONNECT_S),
            )

        self._make = make
        self._all = {
            name: make(channel, _right_of(channel, rights or {}))
            for name, channel in channels.items()
        }

    def start(self) -> None:
        """Connect every channel in its own task."""
        for name in self._all:
            self._start(name)

    def _start(self, name: str) -> None:
        self._tasks[name] = asyncio.create_task(self._all[name].run(), name=f"connect {name}")

    async def stop(self) -> None:
        """Give up connecting and disconnect what is connected; from now on nothing connects."""
        self._is_stopped = True
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await stop_all(one.close() for one in self._all.values())

    async def replace(self, channel: Channel, *, right: CredentialClaim | None) -> ChannelStatus:
        """Replace the channel of the same name; return the result of its first connection
        attempt.
        """
        name = channel.name
        async with self._replacing:
            task = self._tasks.pop(name, None)
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            self.lost(name)
            await self._all[name].close()
            if self._is_stopped:
                raise TryLater(f"{name} is not connected again, because the gateway is stopping")
            self._all[name] = self._make(channel, right)
            self._start(name)
            await self._all[name].tried()
        return self._stands(self._all[name])

    def changed(self) -> None:
        """Publish the current state for status."""
        self._on_change(self.states())

    def states(self) -> tuple[ChannelStatus, ...]:
        """Return the state of each channel."""
        return tuple(self._stands(one) for one in self._all.values())

    def _stands(self, one: ChannelConnection) -> ChannelStatus:
        status = one.status()
        paused = self._breaker(status.name)
        if paused is None:
            return status
        until, failures = paused
        return msgspec.structs.replace(status, rests_until=until, failures=failures)

    def readers(self) -> tuple[MetricReader, ...]:
        """Return the metrics of the channels."""
        by_platform = ("platform",)
        return (
            MetricReader(
                "channel_connected",
                "Whether a platform is connected.",
                labels=by_platform,
                read=lambda: [
                    ((one.name,), float(one.state == "connected")) for one in self.states()
                ],
            ),
            MetricReader(
                "channel_deaf",
                "Whether a platform is connected but does not receive or send.",
                labels=by_platform,
                read=lambda: [((one.name,), float(one.deaf)) for one in self.states()],
            ),
        )


def _right_of(channel: Channel, rights: Mapping[str, CredentialClaim]) -> CredentialClaim | None:
    """A channel that is never connected takes no credential from another process."""
    return None if isinstance(channel, UnusableChannel) else rights.get(channel.name)
