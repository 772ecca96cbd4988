"""An IRC channel with its stand-in, in one process: what the IRC tests hold in their hands."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from hermes.contrib.irc.channel import IrcChannel
from hermes.contrib.irc.settings import read
from hermes.errors import HermesError
from hermes.media.cache import MediaCache
from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.message.parts import Part, TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel import Acceptance, Delivery, Target
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.clock import SystemClock
from hermes.testing.channel_state import memory_state
from hermes.testing.irc.server import IrcStandIn

MANIFEST = load_manifest("hermes.contrib.irc")
_PATIENCE_S = 10.0


@dataclass
class Inbox:
    """Keeps events, or fails as it was told."""

    events: list[MessageEvent] = field(default_factory=list)
    failures: list[HermesError] = field(default_factory=list)

    async def accept(self, event: MessageEvent) -> Acceptance:
        # As the inbox does: what cannot be written down and read again is no event.
        assert msgspec.json.decode(msgspec.json.encode(event), type=MessageEvent) == event
        if self.failures:
            raise self.failures.pop(0)
        self.events.append(event)
        return Acceptance(message_id=event.external_id)

    @property
    def texts(self) -> list[str]:
        return [event.text for event in self.events]


class ShiftedClock(SystemClock):
    """The machine's clock, which can be set forward."""

    shift = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.shift

    def advance(self, seconds: float) -> None:
        self.shift += seconds


@dataclass
class Rig:
    irc: IrcStandIn
    channel: IrcChannel
    inbox: Inbox
    naps: list[float]
    clock: "ShiftedClock"

    def delivery(self, chat_id: str, *parts: Part | str) -> Delivery:
        given = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
        target = Target(platform="irc", account="default", chat_id=chat_id)
        return Delivery(id="o_1", target=target, parts=given, key="k1")

    def lines(self, target: str) -> list[str]:
        """Return what the bot has written to a nick or a channel, codes and all."""
        written = self.irc.state.written
        return [one.text for one in written if one.target == target]

    async def heard(self, count: int) -> list[MessageEvent]:
        """Wait until so many messages are kept."""
        await until(lambda: len(self.inbox.events) >= count)
        return self.inbox.events


async def until(claim: Callable[[], object]) -> None:
    """Wait for a claim to become true; the time limit is only for a broken test."""
    async with asyncio.timeout(_PATIENCE_S):
        while not claim():  # noqa: ASYNC110 - the stand-in tells nobody
            await asyncio.sleep(0.005)


@asynccontextmanager
async def irc_rig(
    folder: Path, irc: IrcStandIn | None = None, *, connect: bool = True, **settings: Any
) -> AsyncIterator[Rig]:
    """Run the stand-in and a channel that is connected to it; waits take no time and are noted."""
    irc = irc or IrcStandIn()
    await irc.start()
    naps: list[float] = []

    async def nap(seconds: float) -> None:
        naps.append(seconds)
        await asyncio.sleep(0 if seconds >= 1 else seconds)

    clock = ShiftedClock()
    client = HttpClient(HttpSettings(timeout_s=0.5))
    setup = ChannelSetup(
        name="irc",
        account="default",
        settings=read_settings(MANIFEST, {**irc.settings, "answer_s": 2.0, **settings}),
        capabilities=MANIFEST.capabilities,
        client=client,
        clock=clock,
        make_id=make_id,
        media=MediaCache(folder / "media", client),
        state=memory_state("irc"),
        rows=MANIFEST.rows,
    )
    channel = IrcChannel(setup, read(setup.settings), sleep=nap)
    rig = Rig(irc, channel, Inbox(), naps, clock)
    try:
        if connect:
            await channel.connect(rig.inbox.accept)
        yield rig
    finally:
        await channel.disconnect()
        await client.close()
        await irc.stop()
