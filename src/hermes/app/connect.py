"""Connecting push platforms side by side: one that hangs or fails holds up no other."""

import asyncio
import random
from collections.abc import Callable, Mapping

import structlog

from hermes.control.status import ChannelState, ChannelStatus
from hermes.errors import ConfigurationError, HermesError
from hermes.ports.channel import Accept, Channel, PushChannel

_CONNECT_S = 30.0
_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 120.0
_log = structlog.get_logger(__name__)


class Connections:
    """The push channels of a gateway and how each stands."""

    def __init__(
        self,
        channels: Mapping[str, Channel],
        *,
        accept: Accept,
        on_connected: Callable[[PushChannel], None],
        on_change: Callable[[], None],
    ) -> None:
        self._channels = channels
        self._accept = accept
        self._on_connected = on_connected
        self._on_change = on_change
        self._states: dict[str, ChannelState] = dict.fromkeys(channels, "starting")
        self._notes: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Connect every channel in a task of its own."""
        for name, channel in self._channels.items():
            task = asyncio.create_task(self._keep_trying(channel), name=f"connect {name}")
            self._tasks.append(task)

    async def stop(self) -> None:
        """Give up connecting and disconnect what is connected."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        connected = [
            self._channels[name].disconnect()
            for name, state in self._states.items()
            if state == "connected"
        ]
        await asyncio.gather(*connected, return_exceptions=True)

    def states(self) -> tuple[ChannelStatus, ...]:
        """Return how each channel stands."""
        return tuple(
            ChannelStatus(name=name, state=state, note=self._notes.get(name))
            for name, state in self._states.items()
        )

    async def _keep_trying(self, channel: Channel) -> None:
        wait_s = _FIRST_WAIT_S
        while not await self._try(channel):
            if self._states[channel.name] == "fatal":
                return
            await asyncio.sleep(wait_s * random.uniform(0.75, 1.25))
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    async def _try(self, channel: Channel) -> bool:
        name = channel.name
        try:
            async with asyncio.timeout(_CONNECT_S):
                await channel.connect(self._accept)
        except ConfigurationError as error:
            self._failed(name, "fatal", str(error))
            return False
        except (HermesError, TimeoutError, OSError) as error:
            self._failed(name, "disconnected", str(error) or f"no answer in {_CONNECT_S:g} s")
            return False
        self._states[name] = "connected"
        self._notes.pop(name, None)
        if isinstance(channel, PushChannel):
            self._on_connected(channel)
        self._on_change()
        _log.info("channel_connected", channel=name)
        return True

    def _failed(self, name: str, state: ChannelState, problem: str) -> None:
        self._states[name] = state
        self._notes[name] = problem
        self._on_change()
        _log.error("channel_failed", channel=name, state=state, problem=problem)
