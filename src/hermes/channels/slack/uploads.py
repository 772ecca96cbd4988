"""Records which file each send uploaded, on disk before anyone can see it.

A file carries no metadata, so a send whose answer was lost is found by its file's id.
"""

import asyncio
from pathlib import Path
from typing import Final

import msgspec

from hermes.durable_file import write_durably

_MOST: Final = 500
_FILE: Final = "uploads.json"


class Uploads:
    """The file ids of the last sends, by their keys."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        self._ids: dict[str, str] | None = None
        self._turn = asyncio.Lock()

    async def note(self, key: str, file_id: str) -> None:
        """Record which file a send has uploaded; return once it would survive a power cut."""
        async with self._turn:
            ids = await self._read()
            ids[key] = file_id
            for old in list(ids)[:-_MOST]:
                del ids[old]
            await asyncio.to_thread(write_durably, self._path, msgspec.json.encode(ids))

    async def find(self, key: str) -> str | None:
        """Return the file that a send has uploaded, if any."""
        async with self._turn:
            return (await self._read()).get(key)

    async def _read(self) -> dict[str, str]:
        if self._ids is None:
            self._ids = await asyncio.to_thread(_load, self._path)
        return self._ids


def _load(path: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}
