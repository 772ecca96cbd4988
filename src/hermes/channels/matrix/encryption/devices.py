"""The devices of other people: asked for when they may have changed, and checked.

A device's key is signed by itself, and an id keeps the key that it had first.
"""

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

_MOST_DEVICES: Final = 500
_log = structlog.get_logger(__name__)


class DeviceBook:
    """Who has which devices; `epoch` names the stretch of the stream that has told of changes."""

    def __init__(
        self, client: MatrixClient, store: DeviceKeyStore, me: Myself, *, epoch: str
    ) -> None:
        self._client = client
        self._store = store
        self._me = me
        self.epoch = epoch

    async def changed(self, users: Iterable[str]) -> None:
        """Ask for the devices of these people again before they are used."""
        for user in users:
            known = await self._store.get(f"devices/{user}", Devices)
            if known is not None and known.epoch:
                known.epoch = ""
                await self._store.put(f"devices/{user}", known)

    async def of(self, users: Iterable[str]) -> dict[str, dict[str, Device]]:
        """Return the devices of people, by their ids."""
        records = {
            user: await self._store.get(f"devices/{user}", Devices) or Devices() for user in users
        }
        stale = [user for user, known in records.items() if known.epoch != self.epoch]
        if stale:
            body: Object = {"device_keys": {user: [] for user in stale}}
            found = await self._client.call("POST", "keys/query", "keys", json=body)
            for user in stale:
                if user in table(found, "device_keys"):
                    records[user] = self._read(user, found, records[user])
                    await self._store.put(f"devices/{user}", records[user])
        return {user: known.devices for user, known in records.items()}

    async def with_key(self, user: str, curve25519: str) -> Device | None:
        """Return somebody's device by its key; ask again if it is not known."""
        found = await self._find(user, lambda device: device.curve25519 == curve25519)
        if found is None:
            await self.changed([user])
            found = await self._find(user, lambda device: device.curve25519 == curve25519)
        return found

    async def _find(self, user: str, fits: Callable[[Device], bool]) -> Device | None:
        known = (await self.of([user]))[user].values()
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
