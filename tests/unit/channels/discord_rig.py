"""A Discord channel with its stand-in, in one process: what the Discord tests hold in their hands."""

from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Literal

import msgspec

from hermes.channels.discord.channel import DiscordChannel, make
from hermes.ports.channel import HttpRequest, HttpResponse, Target
from hermes.ports.channel_setup import ChannelSetup
from hermes.testing.discord.platform import DiscordStandIn
from tests.unit.channels.channel_rig import KEY, ChannelRig, running

__all__ = ["KEY", "Rig", "discord_rig"]


class Rig(ChannelRig[DiscordStandIn, DiscordChannel]):
    package = "hermes.channels.discord"

    @property
    def discord(self) -> DiscordStandIn:
        return self.site

    def made(self, setup: ChannelSetup) -> DiscordChannel:
        return make(setup)

    def target(self, chat: str = "lab", **more: Any) -> Target:
        chat_id = self.site.town.open_chat(chat, chat_type="group")
        return Target(platform="discord", account="default", chat_id=chat_id, group=True, **more)

    async def call(self, channel: DiscordChannel, body: object) -> tuple[HttpRequest, HttpResponse]:
        """Return a signed call as Discord sends it, and the answer."""
        call = self.site.push.signed(msgspec.json.encode(body))
        return call, await channel.webhook(call)


def discord_rig(
    mode: Literal["gateway", "http"] = "gateway",
) -> AbstractAsyncContextManager[Rig]:
    """Run the stand-in."""
    site = DiscordStandIn(mode, heartbeat_s=0.02)
    return running(site, partial(Rig, site))
