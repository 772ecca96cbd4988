"""Connecting push platforms side by side: one that hangs or fails holds up no other."""

import asyncio
import random
from collections.abc import Callable, Mapping

from hermes.app.connection import Chance, Connection, Right
from hermes.control.status import ChannelStatus
from hermes.ops.metrics import Reader
from hermes.outbox.alarm import Sleep
from hermes.outbox.traffic import Traffic
from hermes.ports.channel import Accept, Channel, PushChannel
from hermes.ports.clock import Clock


class Connections:
    """The push channels of a gateway and how each stands.

    `on_connected` lets a platform's replies leave, `on_lost` holds them back; `rights` are the
    credentials that only one process of this machine may use, by platform; `plugins` are the packages
    of those that are not built in.
    """

    def __init__(
        self,
        channels: Mapping[str, Channel],
        *,
        accept: Accept,
        on_connected: Callable[[PushChannel], None],
        on_lost: Callable[[str], None],
        on_change: Callable[[], None],
        traffic: Traffic,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        chance: Chance = random.random,
        rights: Mapping[str, Right] | None = None,
        plugins: Mapping[str, str] | None = None,
    ) -> None:
        self.connected = on_connected
        self.lost = on_lost
        self.changed = on_change
        self._tasks: list[asyncio.Task[None]] = []
        self._all = {
            name: Connection(
                channel,
                accept=accept,
                listener=self,
                traffic=traffic,
                clock=clock,
                sleep=sleep,
                chance=chance,
                right=(rights or {}).get(name),
                plugin=(plugins or {}).get(name),
            )
            for name, channel in channels.items()
        }

    def start(self) -> None:
        """Connect every channel in a task of its own."""
        self._tasks = [
            asyncio.create_task(one.run(), name=f"connect {name}")
            for name, one in self._all.items()
        ]

    async def stop(self) -> None:
        """Give up connecting and disconnect what is connected."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(one.close() for one in self._all.values()))

    def states(self) -> tuple[ChannelStatus, ...]:
        """Return how each channel stands."""
        return tuple(one.status() for one in self._all.values())

    def readers(self) -> tuple[Reader, ...]:
        """Return what metrics show of the channels."""
        by_platform = ("platform",)
        return (
            Reader(
                "channel_connected",
                "Whether a platform is connected.",
                labels=by_platform,
                read=lambda: [
                    ((one.name,), float(one.state == "connected")) for one in self.states()
                ],
            ),
            Reader(
                "channel_deaf",
                "Whether a platform is connected but does not hear or is not heard.",
                labels=by_platform,
                read=lambda: [((one.name,), float(one.deaf)) for one in self.states()],
            ),
        )
