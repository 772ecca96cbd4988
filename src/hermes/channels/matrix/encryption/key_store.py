"""What this device remembers: written before anything that depends on it is sent.

Values are sealed by the store. The keys name rooms, people and sessions, as the platform does.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
import structlog

from hermes.channels.matrix.encryption.signatures import Device
from hermes.ports.channel_state import PlatformState

# How many records of a kind are kept: those that were written last. Of the devices of people in the bot's
# rooms all are: whoever could push one out could put another key in its place. Strangers are as many as
# anybody likes: of them only what they wrote to the device is known, and nothing was ever sent to them.
_MOST: Final[Mapping[str, int]] = {
    "in/": 50_000,
    "out/": 10_000,
    "olm/": 20_000,
    "waiting/": 1_000,
    "strangers/": 5_000,
}
_log = structlog.get_logger(__name__)


class OwnDevice(msgspec.Struct, kw_only=True):
    """This device; `seeds` are its owner's cross-signing keys, if Hermes has made them.

    `done` are digests of the newest messages to this device, with the session whose key each brought:
    the homeserver tells them again after a crash, and what was read once cannot be read again.
    """

    user_id: str
    device_id: str
    account: str
    seeds: dict[str, str] = {}
    is_signed: bool = False
    done: dict[str, str] = {}


class Devices(msgspec.Struct, kw_only=True):
    """The devices of a person. Each id keeps the key that it had first. Empty `epoch`: ask again."""

    epoch: str = ""
    devices: dict[str, Device] = {}
    pinned: dict[str, str] = {}


class Peer(msgspec.Struct, kw_only=True):
    """The Olm sessions with one device, the one used last first."""

    sessions: list[str] = []
    renewed_at: float = 0.0


class RoomKey(msgspec.Struct, kw_only=True):
    """The key of somebody's messages in a room; `seen` is which message had which index."""

    room_id: str
    curve25519: str
    ed25519: str
    session: str
    seen: dict[int, str] = {}


class OwnRoomKey(msgspec.Struct, kw_only=True):
    """The key of the bot's messages in a room, and the keys of the devices that have it."""

    session: str
    made_at: float
    sent: int = 0
    shared: list[str] = []


class WaitingEvents(msgspec.Struct, kw_only=True):
    """Messages that cannot be read until the key of a session comes."""

    room_id: str
    sender: str
    events: list[str] = []


Record = TypeVar("Record")


class DeviceKeyStore:
    """Reads and writes the records; each is durable when `put` returns."""

    def __init__(self, state: PlatformState, *, most: Mapping[str, int] = _MOST) -> None:
        self._state = state
        self._most = most
        self._written = 0

    async def get(self, name: str, shape: type[Record]) -> Record | None:
        """Return a record, or None if there is none."""
        content = await self._state.get(f"e2ee/{name}")
        return None if content is None else msgspec.json.decode(content, type=shape)

    async def put(self, name: str, record: object) -> None:
        """Write a record."""
        await self._state.put(f"e2ee/{name}", msgspec.json.encode(record))
        self._written += 1
        if self._written % 100 == 1:
            for kind, most in self._most.items():
                await self._state.trim(f"e2ee/{kind}", keep=most)

    async def drop(self, name: str) -> None:
        """Delete a record."""
        await self._state.drop(f"e2ee/{name}")

    async def forget_all(self) -> None:
        """Delete what belongs to another device."""
        _log.warning("matrix.device_replaced")
        await self._state.trim("e2ee/", keep=0)
