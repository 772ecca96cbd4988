"""A Discord channel with its stand-in, in one process: what the Discord tests hold in their hands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from hermes.channels.discord.channel import DiscordChannel, make
from hermes.message.parts import Part, TextPart
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.channel import ArrivedDelivery, Delivery, HttpRequest, HttpResponse, Target
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import SystemClock
from hermes.testing.channel_state import memory_state
from hermes.testing.discord.platform import DiscordStandIn
from hermes.testing.setup_channel import channel_setup
from tests.unit.channels.slack_rig import Inbox

KEY = "o_0123456789abcdefghijklmn.0"


@dataclass
class Rig:
    discord: DiscordStandIn
    client: HttpClient
    state: PlatformState
    inbox: Inbox = field(default_factory=Inbox)
    arrived: list[ArrivedDelivery] = field(default_factory=list)

    def make(self, **settings: Any) -> DiscordChannel:
        """Return a channel of the bot, with the state that the one before left."""

        async def tell(there: ArrivedDelivery) -> None:
            self.arrived.append(there)

        table = {**self.discord.settings, **settings}
        setup = channel_setup(
            "hermes.channels.discord",
            table,
            client=self.client,
            clock=SystemClock(),
            state=self.state,
        )
        return make(msgspec.structs.replace(setup, arrived=tell))

    @asynccontextmanager
    async def connected(self, **settings: Any) -> AsyncIterator[DiscordChannel]:
        channel = self.make(**settings)
        try:
            await channel.connect(self.inbox.accept)
            yield channel
        finally:
            await channel.disconnect()

    def target(self, chat: str = "lab", **more: Any) -> Target:
        town = self.discord.town
        chat_id = town.open_chat(chat, chat_type="group")
        return Target(platform="discord", account="default", chat_id=chat_id, group=True, **more)

    def delivery(self, *parts: Part | str, key: str = KEY, **more: Any) -> Delivery:
        given = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
        target = more.pop("target", None) or self.target()
        return Delivery(id="o_1", target=target, parts=given, key=key, **more)

    async def call(self, channel: DiscordChannel, body: object) -> tuple[HttpRequest, HttpResponse]:
        """Return a signed call as Discord sends it, and the answer."""
        call = self.discord.push.signed(msgspec.json.encode(body))
        return call, await channel.webhook(call)


@asynccontextmanager
async def discord_rig(mode: Literal["gateway", "http"] = "gateway") -> AsyncIterator[Rig]:
    """Run the stand-in."""
    discord = DiscordStandIn(mode, heartbeat_s=0.02)
    await discord.start()
    client = HttpClient(HttpSettings(timeout_s=1.0))
    try:
        yield Rig(discord, client, memory_state("discord"))
    finally:
        await client.close()
        await discord.stop()
