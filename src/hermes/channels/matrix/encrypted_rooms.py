"""Handles end-to-end encrypted rooms: notifies the writer once, and the operator.

Without the key of a message the bot cannot answer it; not answering at all would be worse.
"""

from collections import deque
from typing import TYPE_CHECKING, Final

import structlog

from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.outbound import notice_content
from hermes.channels.matrix.sync_state import SyncState
from hermes.errors import DeliveryError
from hermes.ports.clock import Clock

if TYPE_CHECKING:
    from hermes.channels.matrix.encryption.machine import Encryption

NOTICE: Final = (
    "I cannot read messages in this room: it is end-to-end encrypted. Please write to me in a room "
    "without encryption."
)
KEY_NOTICE: Final = (
    "I cannot read a message in this room: its key has not reached me. I have asked for it; if I do "
    "not answer, please send the message again."
)
_MOST: Final = 20
_WINDOW_S: Final = 3600.0
_log = structlog.get_logger(__name__)


class EncryptedRooms:
    """Counts unreadable messages, and posts a notice once per room; never in many rooms at once."""

    def __init__(
        self,
        client: MatrixClient,
        kept: SyncState,
        *,
        clock: Clock,
        encryption: "Encryption | None",
    ) -> None:
        self._client = client
        self._encryption = encryption
        self._kept = kept
        self._clock = clock
        self._rooms: dict[str, int] = {}
        self._told_at: deque[float] = deque(maxlen=_MOST)
        self.readable = 0

    @property
    def problem(self) -> str | None:
        """What the operator should know if no received message could be read; else None."""
        if self.readable or not self._rooms:
            return None
        return (
            f"matrix: all {sum(self._rooms.values())} messages received since the start were "
            f"end-to-end encrypted, in {len(self._rooms)} rooms; use rooms without encryption, or set "
            "platforms.matrix.encryption"
        )

    async def met(self, room_id: str) -> None:
        """Record a message that cannot be read."""
        known = self._rooms.get(room_id, 0)
        self._rooms[room_id] = known + 1
        if not known:
            _log.warning(
                "matrix.room_is_encrypted",
                room=room_id,
                hint="its messages cannot be read; see platforms.matrix.encryption",
            )
        if room_id in self._kept.told or not self._may_tell():
            return
        try:
            await self._tell(room_id)
        except DeliveryError as error:
            _log.warning("matrix.notice_failed", room=room_id, problem=str(error))
            return
        self._told_at.append(self._clock.monotonic())
        self._kept.told.append(room_id)

    async def _tell(self, room_id: str) -> None:
        kind, content = "m.room.message", notice_content(NOTICE)
        if self._encryption is not None:
            content = await self._encryption.encrypt(room_id, kind, notice_content(KEY_NOTICE))
            kind = "m.room.encrypted"
        await self._client.put_event(room_id, content, txn=f"encrypted.{room_id}", kind=kind)

    def _may_tell(self) -> bool:
        oldest = self._told_at[0] if len(self._told_at) == _MOST else None
        return oldest is None or self._clock.monotonic() - oldest > _WINDOW_S
