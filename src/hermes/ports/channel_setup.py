"""What the making of a channel is given: its settings as checked, and the parts it works with.

Between the composition root, which fills it, and a channel's `make`, which reads it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from hermes.message.channel_name import platform_of
from hermes.message.parts import Media
from hermes.ports.channel import Capabilities, Channel, TellArrived, TellReturned
from hermes.ports.channel_rows import ChannelRows
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import Clock


class MediaFiles(Protocol):
    """Where attachments are kept while they are needed; bounded in size and in time."""

    async def keep(self, data: bytes, *, mime: str, name: str | None = None) -> Media:
        """Store the bytes and return where; their content decides the type.

        Raises a `HermesError` if they are too large, of a refused type, or a decompression bomb.
        """
        ...

    async def read(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of an attachment that is to be sent: a kept file, or a guarded fetch."""
        ...


class ChannelSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a channel is made of.

    `name` is that of the channel: the platform, or `platform/account` for one of its further accounts.
    `settings` holds a value for every entry of the manifest's [settings] table: what the operator
    set, or the default; secrets as plain text. `state` is for the little that a channel must remember
    itself over a restart (where it was in a stream of events).
    `webhook_url` is the address at which the platform reaches this gateway, if one is configured.
    A channel that opens connections without `client` trusts the certificates in `ca_bundle`, if it
    is set, and connects over IPv4 only if `ipv4_only` says so.
    `returned` is told of what comes back after it was sent, `arrived` of what the platform only later
    says to have arrived; either is durable once it returns.
    `rows` are what the manifest says of the wire, for the parts of `channel_kit`.
    """

    name: str
    account: str
    settings: Mapping[str, Any]
    capabilities: Capabilities
    # Any: the outbound client lives above the ports; a channel knows it as `net.client.HttpClient`.
    client: Any
    clock: Clock
    make_id: Callable[[str], str]
    media: MediaFiles
    state: PlatformState
    webhook_url: str | None = None
    ca_bundle: str = ""
    ipv4_only: bool = False
    returned: TellReturned | None = None
    arrived: TellArrived | None = None
    rows: ChannelRows = ChannelRows()

    @property
    def platform(self) -> str:
        """The platform, whichever of its accounts it is."""
        return platform_of(self.name)


class Suggestion(msgspec.Struct, frozen=True):
    """A value that a channel's package found out for a setting, empty if none, and why it is that."""

    value: str
    why: str


MakeChannel = Callable[[ChannelSetup], Channel]
