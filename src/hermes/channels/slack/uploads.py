"""Records which file each send uploaded, in the store before anyone can see it.

A file carries no metadata, so a send whose answer was lost is found by its file's id.
"""

from typing import Final

import msgspec

from hermes.channel_kit.kept_map import KeptMap
from hermes.ports.channel_state import PlatformState

_MOST: Final = 500
# All of them in one file, as an earlier version wrote it.
_OLD_FILE: Final = "uploads.json"


class Uploads:
    """The file ids of the last sends, by their keys."""

    def __init__(self, state: PlatformState) -> None:
        self._state = state
        self._ids = KeptMap(state, "upload/", most=_MOST)

    async def note(self, key: str, file_id: str) -> None:
        """Record which file a send has uploaded; it is durable when this returns."""
        await self._ids.put(key, file_id)

    async def find(self, key: str) -> str | None:
        """Return the file that a send has uploaded, if any."""
        found = await self._ids.get(key)
        return await self._find_old(key) if found is None else found

    async def _find_old(self, key: str) -> str | None:
        content = await self._state.get(_OLD_FILE)
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=dict[str, str]).get(key)
        except (msgspec.DecodeError, RecursionError):
            return None
