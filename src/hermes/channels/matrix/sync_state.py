"""What is stored: the position in the stream, and the signed-in device.

It is written only after every event of a batch was accepted, so after a crash events are fetched
again, and none is missed.
"""

from typing import Final

import msgspec
import structlog

from hermes.ports.channel_state import PlatformState

# The name of the file that an earlier version wrote.
KEY: Final = "stream.json"
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


class SyncStateKeeper:
    """Reads and writes it."""

    def __init__(self, state: PlatformState) -> None:
        self._state = state

    async def load(self) -> SyncState:
        """Return the stored state; empty on the first start."""
        content = await self._state.get(KEY)
        if content is None:
            return SyncState()
        try:
            return msgspec.json.decode(content, type=SyncState)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            _log.error("matrix.stream_state_unreadable", key=KEY, problem=str(error))
            return SyncState()

    async def save(self, kept: SyncState) -> None:
        """Write the state; it is durable when this returns."""
        await self._state.put(KEY, msgspec.json.encode(kept))
