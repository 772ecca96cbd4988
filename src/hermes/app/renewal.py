"""Replaces a running channel by a new one, after a credential was changed or refused.

Operators' orders arrive here from `control`; everything that holds channels by name gets the new
one, and settings other than the channel's own stay as they were at the start.
"""

from collections.abc import MutableMapping
from pathlib import Path

import msgspec

from hermes.app.channel_files import open_state
from hermes.app.connect import Connections
from hermes.app.credential_locks import make_rights
from hermes.app.platforms import make_one
from hermes.config import Settings
from hermes.control.status import ChannelStatus
from hermes.message.channel_name import account_of, platform_of
from hermes.net.client import HttpClient
from hermes.outbox.returns import take_arrivals, take_returns
from hermes.plugins.registry import Registry
from hermes.ports.channel import Channel, WebhookChannel
from hermes.ports.channel_setup import MediaFiles
from hermes.ports.channel_state import ChannelState
from hermes.ports.clock import Clock
from hermes.ports.outbox import OutboxStore


class Renewal(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel is built with, and everything that holds it: by name, for webhooks, and as a
    connection.
    """

    settings: Settings
    registry: Registry
    client: HttpClient
    home: Path
    clock: Clock
    media_cache: MediaFiles
    outbox: OutboxStore
    states: ChannelState
    channels: MutableMapping[str, Channel]
    webhooks: MutableMapping[str, WebhookChannel]
    connections: Connections

    async def renew(self, platform: str, found: Settings) -> ChannelStatus:
        """Reconnect a platform with its settings as found now; return the result of its first
        attempt.
        """
        settings = _with_own(self.settings, platform, found)
        channel = make_one(
            platform,
            settings,
            self.registry,
            client=self.client,
            state=await open_state(platform, self.states, home=self.home),
            clock=self.clock,
            media_cache=self.media_cache,
            returned=take_returns(platform, self.outbox, clock=self.clock),
            arrived=take_arrivals(platform, self.outbox, clock=self.clock),
        )
        self.channels[platform] = channel
        if isinstance(channel, WebhookChannel):
            self.webhooks[platform] = channel
        rights = make_rights(settings, self.registry, home=self.home, clock=self.clock)
        return await self.connections.replace(channel, right=rights.get(platform))


def _with_own(settings: Settings, name: str, found: Settings) -> Settings:
    """Return the settings with a channel's own settings, such as its token, as found now."""
    if name not in found.channels or name not in settings.channels:
        return settings
    platform, account = platform_of(name), account_of(name)
    table = settings.platforms[platform]
    news = {"extra": found.channels[name].extra}
    if account:
        own = table.accounts[account].model_copy(update=news)
        news = {"accounts": {**table.accounts, account: own}}
    changed = table.model_copy(update=news)
    return settings.model_copy(update={"platforms": {**settings.platforms, platform: changed}})
