"""A `ChannelSetup` for a test: the settings checked against the manifest, everything else a
stand-in.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from hermes.errors import NotFound
from hermes.message.ids import make_id
from hermes.message.parts import Media
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import Clock
from hermes.ports.media import MediaOwner
from hermes.testing.channel_state import memory_state
from hermes.testing.manual_time import ManualClock


class MemoryFiles:
    """Fits `MediaFiles` and `ReplyFiles`: attachments in memory, for as long as the test lasts."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def keep(self, data: bytes, *, mime: str, name: str | None = None) -> Media:
        """Store the bytes."""
        path = f"kept-{len(self.kept)}"
        self.kept[path] = data
        return Media(mime, path=path, name=name, size=len(data))

    async def put(
        self, data: bytes, *, owner: MediaOwner, name: str | None = None, is_checked: bool = True
    ) -> Media:
        """Store a file of a turn; the same bytes are the same file."""
        del is_checked
        path = f"{owner.person_id}/{owner.message_id}/{sha256(data).hexdigest()}"
        self.kept[path] = data
        return Media("text/plain", path=path, name=name, size=len(data))

    async def read(self, media: Media, *, limit: int) -> bytes:
        """Return the stored bytes."""
        data = self.kept.get(media.path or "")
        if data is None or len(data) > limit:
            raise NotFound(f"nothing of at most {limit} bytes is kept as {media.path!r}")
        return data


def channel_setup(
    package: str,
    table: Mapping[str, object],
    *,
    # Any: as in `ChannelSetup`.
    client: Any = None,
    clock: Clock | None = None,
    state: PlatformState | None = None,
    file: str = "manifest.toml",
) -> ChannelSetup:
    """Return the dependencies of a channel; `table` is what an operator would set."""
    manifest = load_manifest(package, file)
    return ChannelSetup(
        name=manifest.name,
        account="default",
        settings=read_settings(manifest, table),
        capabilities=manifest.capabilities,
        client=client,
        clock=clock or ManualClock(),
        make_id=make_id,
        media=MemoryFiles(),
        state=state or memory_state(manifest.name),
        rows=manifest.rows,
    )
