"""The little that outlives the process: where the stream stood, and the device that was signed in.

A file of the channel's own. It is written only after every event of a batch was accepted, so after a
crash events come again, and none is missed.
"""

import asyncio
import os
from pathlib import Path

import msgspec
import structlog

_FILE = "stream.json"
_log = structlog.get_logger(__name__)


class SyncState(msgspec.Struct, kw_only=True):
    """Whose stream it is, where it stood, the last event of each room, and who was told what.

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
        """Return what was kept, or nothing on the first start."""
        return await asyncio.to_thread(self._load)

    async def save(self, kept: SyncState) -> None:
        """Write it down; returns once it would survive a power cut."""
        await asyncio.to_thread(self._save, msgspec.json.encode(kept))

    def _load(self) -> SyncState:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=SyncState)
        except FileNotFoundError:
            return SyncState()
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            _log.error("matrix.stream_file_unreadable", path=str(self._path), problem=str(error))
            return SyncState()

    def _save(self, content: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".draft")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(handle, content)
            os.fsync(handle)
        finally:
            os.close(handle)
        draft.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
