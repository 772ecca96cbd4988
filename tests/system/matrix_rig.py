"""The Matrix channel by itself: an inbox that says what it is told to, on any homeserver."""

import struct
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from zlib import compress, crc32

import msgspec

from hermes.channels.matrix.channel import MatrixChannel, make
from hermes.channels.matrix.sync_state import KEY
from hermes.media.cache import MediaCache
from hermes.message.event import MessageEvent
from hermes.net.client import HttpClient, HttpSettings
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel import Acceptance, ArrivedDelivery
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.clock import SystemClock
from hermes.testing.channel_state import memory_state

PACKAGE = "hermes.channels.matrix"


def picture(shade: int) -> bytes:
    """Return a picture of one grey point."""

    def piece(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))

    head = piece(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    points = piece(b"IDAT", compress(bytes((0, shade))))
    return b"\x89PNG\r\n\x1a\n" + head + points + piece(b"IEND", b"")


class Rig:
    """Channels of one account, one after the other, and what their inbox got."""

    def __init__(self, folder: Path, *, timeout_s: float = 1.0) -> None:
        self.client = HttpClient(HttpSettings(timeout_s=timeout_s))
        self.media_cache = MediaCache(folder / "media", self.client)
        self.state = memory_state("matrix")
        self.events: list[MessageEvent] = []
        # Repeats, too.
        self.handed: list[str] = []
        self.refusals: list[Exception] = []
        self.arrived: list[ArrivedDelivery] = []
        self.channels: list[MatrixChannel] = []
        self._numbers = count(1)

    @property
    def settings(self) -> Mapping[str, object]:
        """Where the account is."""
        raise NotImplementedError

    def channel(self, **more: object) -> MatrixChannel:
        manifest = load_manifest(PACKAGE)
        table = {**self.settings, **more}
        table = {name: value for name, value in table.items() if value is not None}
        channel = make(
            ChannelSetup(
                name="matrix",
                account="default",
                settings=read_settings(manifest, table),
                capabilities=manifest.capabilities,
                client=self.client,
                clock=SystemClock(),
                make_id=lambda kind: f"{kind}_{next(self._numbers)}",
                media=self.media_cache,
                state=self.state,
                rows=manifest.rows,
                arrived=self.arrive,
            )
        )
        self.channels.append(channel)
        return channel

    async def change_place(self, **fields: object) -> None:
        """Let the stored state say something else."""
        kept = msgspec.json.decode(await self.state.get(KEY) or b"{}")
        await self.state.put(KEY, msgspec.json.encode({**kept, **fields}))

    async def connected(self, **more: object) -> MatrixChannel:
        channel = self.channel(**more)
        await channel.connect(self.accept)
        return channel

    async def accept(self, event: MessageEvent) -> Acceptance:
        if self.refusals:
            raise self.refusals.pop(0)
        self.handed.append(event.text)
        known = any(one.external_id == event.external_id for one in self.events)
        if not known:
            self.events.append(event)
        return Acceptance(message_id=event.external_id, duplicate=known)

    async def arrive(self, there: ArrivedDelivery) -> None:
        self.arrived.append(there)

    def texts(self) -> list[str]:
        return [event.text for event in self.events]

    async def close(self) -> None:
        for channel in self.channels:
            await channel.disconnect()
        await self.client.close()
