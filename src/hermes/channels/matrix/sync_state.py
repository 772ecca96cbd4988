"""What is stored on disk: the position in the stream, and the signed-in device.

A file of the channel's own. It is written only after every event of a batch was accepted, so after
a crash events are fetched again, and none is missed.
"""

import asyncio
from pathlib import Path

import msgspec
import structlog

from hermes.durable_file import write_durably

_FILE = "stream.json"
_log = structlog.get_logger(__name__)


class SyncState(msgspec.Struct, kw_only=True):
    """The account, the position, the last event of each room, and the rooms with a notice.

    `told` are the encrypted rooms that have had their notice.
    """

    user_id: str = ""
    device_id: str | None = None
    since: str | None = None
    last: dict[str, str] = {}
    told: list[str] = []


class SyncStateFile:
    """Reads and writes the file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    async def load(self) -> SyncState:
        """Return the stored state; empty on the first start."""
        return await asyncio.to_thread(self._load)

    async def save(self, kept: SyncState) -> None:
        """Write the state; return once it would survive a power cut."""
        await asyncio.to_thread(write_durably, self._path, msgspec.json.encode(kept))

    def _load(self) -> SyncState:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=SyncState)
        except FileNotFoundError:
            return SyncState()
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            _log.error("matrix.stream_file_unreadable", path=str(self._path), problem=str(error))
            return SyncState()
