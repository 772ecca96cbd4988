"""The devices of other people: asked for when they may have changed, and checked.

A device's key is signed by itself, and an id keeps the key that it had first.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.encryption.key_store import DeviceKeyStore, Devices
from hermes.channels.matrix.encryption.own_device import Myself
from hermes.channels.matrix.encryption.signatures import (
    Device,
    Object,
    cross_key,
    is_signed,
    read_device,
    table,
)
from hermes.ports.clock import Clock

_MOST_DEVICES: Final = 500
# Anybody on any homeserver can write to the device, and have it ask that homeserver about them.
_MOST_ASKED: Final = 20
_WINDOW_S: Final = 60.0
# People with whom the bot has been in an encrypted room; and anybody who has only written to the device.
_MEMBERS: Final = "devices/"
_STRANGERS: Final = "strangers/"
_log = structlog.get_logger(__name__)


class DeviceBook:
    """Who has which devices; `epoch` names the stretch of the stream that has told of changes."""

    def __init__(
        self, client: MatrixClient, store: DeviceKeyStore, me: Myself, *, epoch: str, clock: Clock
    ) -> None:
        self._client = client
        self._store = store
        self._me = me
        self.epoch = epoch
        self._clock = clock
        self._asked_at: deque[float] = deque(maxlen=_MOST_ASKED)

    async def changed(self, users: Iterable[str]) -> None:
        """Ask for the devices of these people again before they are used."""
        for user in users:
            place, known = await self._load(user)
            if known is not None and known.epoch:
                known.epoch = ""
                await self._store.put(place, known)

    async def of(
        self, users: Iterable[str], *, are_members: bool = True
    ) -> dict[str, dict[str, Device]]:
        """Return the devices of people, by their ids; those of a room's members are kept for ever."""
        loaded = {user: await self._load(user) for user in users}
        records = {user: known or Devices() for user, (_, known) in loaded.items()}
        stale = [user for user, known in records.items() if known.epoch != self.epoch]
        if stale:
            body: Object = {"device_keys": {user: [] for user in stale}}
            found = await self._client.call("POST", "keys/query", "keys", json=body)
            told = table(found, "device_keys")
            records |= {
                user: self._read(user, found, records[user]) for user in stale if user in told
            }
        for user, (place, known) in loaded.items():
            to = f"{_MEMBERS}{user}" if are_members else place
            await self._keep(records[user], known, place=place, to=to)
        return {user: known.devices for user, known in records.items()}

    async def _keep(self, now: Devices, before: Devices | None, *, place: str, to: str) -> None:
        """Write devices that are new, or whose owner is no stranger any more: their pins come along."""
        is_moved = before is not None and to != place
        if is_moved or (now is not before and now.epoch):
            await self._store.put(to, now)
        if is_moved:
            await self._store.drop(place)

    async def _load(self, user: str) -> tuple[str, Devices | None]:
        """Return where somebody's devices are kept, and the devices if they are known."""
        for kind in (_MEMBERS, _STRANGERS):
            known = await self._store.get(f"{kind}{user}", Devices)
            if known is not None:
                return f"{kind}{user}", known
        return f"{_STRANGERS}{user}", None

    async def with_key(self, user: str, curve25519: str) -> Device | None:
        """Return somebody's device by its key; ask if it is not known, though not too often."""
        _, known = await self._load(user)
        if known is None and not self._may_ask():
            return None
        found = await self._find(user, lambda device: device.curve25519 == curve25519)
        is_asked = known is None or known.epoch != self.epoch
        if found is None and not is_asked and self._may_ask():
            await self.changed([user])
            found = await self._find(user, lambda device: device.curve25519 == curve25519)
        return found

    async def known(self, user: str, curve25519: str) -> Device | None:
        """Return somebody's device by its key, without asking anybody."""
        _, known = await self._load(user)
        devices = {} if known is None else known.devices
        return next((one for one in devices.values() if one.curve25519 == curve25519), None)

    def _may_ask(self) -> bool:
        now = self._clock.monotonic()
        if len(self._asked_at) == _MOST_ASKED and now - self._asked_at[0] < _WINDOW_S:
            _log.warning("matrix.too_many_unknown_devices", within_s=_WINDOW_S)
            return False
        self._asked_at.append(now)
        return True

    async def _find(self, user: str, fits: Callable[[Device], bool]) -> Device | None:
        known = (await self.of([user], are_members=False))[user].values()
        return next((device for device in known if fits(device)), None)

    def _read(self, user: str, found: Object, before: Devices) -> Devices:
        told = table(table(found, "device_keys"), user)
        owner = self._owner_key(user, found)
        devices: dict[str, Device] = {}
        pinned = dict(before.pinned)
        for name in list(told)[:_MOST_DEVICES]:
            device = read_device(told[name], user_id=user, device_id=name, owner_key=owner)
            if device is None or pinned.setdefault(name, device.ed25519) != device.ed25519:
                _log.warning("matrix.device_refused", user=user, device=name[:80])
                continue
            devices[name] = device
        return Devices(epoch=self.epoch, devices=devices, pinned=pinned)

    def _owner_key(self, user: str, found: Object) -> str:
        """Return the key with which the owner signs devices; for our own account only our own."""
        told = table(found, "self_signing_keys").get(user)
        key = cross_key(told, user_id=user, usage="self_signing")
        if user == self._me.user_id:
            return key if key == self._me.owner_keys.get("self_signing") else ""
        master = cross_key(table(found, "master_keys").get(user), user_id=user, usage="master")
        is_theirs = bool(master) and is_signed(told, user_id=user, key_id=master, key=master)
        return key if is_theirs else ""
