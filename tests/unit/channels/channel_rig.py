"""A channel with its stand-in, in one process: what the tests of a platform hold in their hands."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from hermes.message.parts import Part, TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.channel import ArrivedDelivery, Channel, Delivery, Target
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import SystemClock
from hermes.testing.channel_state import memory_state
from hermes.testing.setup_channel import channel_setup
from hermes.testing.stand_in import StandIn
from tests.unit.channels.slack_rig import Inbox

KEY = "o_0123456789abcdefghijklmn.0"
SiteT = TypeVar("SiteT", bound=StandIn)
ChannelT = TypeVar("ChannelT", bound=Channel)


@dataclass
class ChannelRig(Generic[SiteT, ChannelT]):
    site: SiteT
    client: HttpClient
    state: PlatformState = field(default_factory=memory_state)
    inbox: Inbox = field(default_factory=Inbox)
    arrived: list[ArrivedDelivery] = field(default_factory=list)

    package = ""

    def made(self, setup: ChannelSetup) -> ChannelT:
        """Return the channel of a set-up."""
        raise NotImplementedError

    def target(self) -> Target:
        """Return where deliveries go that name no place."""
        raise NotImplementedError

    def make(self, **settings: Any) -> ChannelT:
        """Return a channel of the bot, with the state that the one before left."""

        async def tell(there: ArrivedDelivery) -> None:
            self.arrived.append(there)

        table = {**self.site.settings, **settings}
        setup = channel_setup(
            self.package, table, client=self.client, clock=SystemClock(), state=self.state
        )
        return self.made(msgspec.structs.replace(setup, arrived=tell))

    @asynccontextmanager
    async def connected(self, **settings: Any) -> AsyncIterator[ChannelT]:
        channel = self.make(**settings)
        try:
            await channel.connect(self.inbox.accept)
            yield channel
        finally:
            await channel.disconnect()

    def delivery(self, *parts: Part | str, key: str = KEY, **more: Any) -> Delivery:
        given = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
        target = more.pop("target", None) or self.target()
        return Delivery(id="o_1", target=target, parts=given, key=key, **more)


RigT = TypeVar("RigT")


@asynccontextmanager
async def running(site: StandIn, rig: Callable[[HttpClient], RigT]) -> AsyncIterator[RigT]:
    """Run the stand-in; return the rig with a client."""
    await site.start()
    client = HttpClient(HttpSettings(timeout_s=1.0))
    try:
        yield rig(client)
    finally:
        await client.close()
        await site.stop()
