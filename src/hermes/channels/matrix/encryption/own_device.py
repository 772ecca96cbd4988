"""This device: its keys, which are stored before the homeserver gets them, and who vouches for it.

If the account has no cross-signing keys, Hermes makes them and signs the device with them. Otherwise a
person with another client of the account verifies the device by its key.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from vodozemac import Account

from hermes.channels.matrix.client import MatrixClient
from hermes.channels.matrix.encryption.key_store import DeviceKeyStore, OwnDevice
from hermes.channels.matrix.encryption.signatures import (
    MEGOLM,
    OLM,
    Object,
    cross_key,
    decode64,
    encode64,
    signed,
    table,
    text,
)
from hermes.errors import ConfigurationError, DeliveryRejected

# The store seals the records; the library wants a key of its own.
PICKLE: Final = bytes(32)
ONE_TIME: Final = "signed_curve25519"
_MOST_DONE: Final = 200
_ROLES: Final = ("master", "self_signing", "user_signing")
_log = structlog.get_logger(__name__)


class Myself:
    """The device of one account; `load` comes first."""

    def __init__(self, client: MatrixClient, store: DeviceKeyStore, *, password: str) -> None:
        self._client = client
        self._store = store
        self._password = password
        self._record = OwnDevice(user_id="", device_id="", account="")
        # Any: the types of the library leave out fallback keys.
        self.account: Any = Account()

    @property
    def user_id(self) -> str:
        """Whose device it is."""
        return self._record.user_id

    @property
    def device_id(self) -> str:
        """Its id."""
        return self._record.device_id

    @property
    def curve25519(self) -> str:
        """The key by which others reach it."""
        return str(self.account.curve25519_key.to_base64())

    @property
    def ed25519(self) -> str:
        """The key by which people recognise it."""
        return str(self.account.ed25519_key.to_base64())

    @property
    def is_signed(self) -> bool:
        """Whether its owner vouches for it, with keys that Hermes has made."""
        return self._record.is_signed

    @property
    def owner_keys(self) -> Mapping[str, str]:
        """The cross-signing keys that Hermes has made, by role."""
        return {role: _public(seed) for role, seed in self._record.seeds.items()}

    async def load(self, user_id: str, device_id: str) -> None:
        """Load the keys of this device, or make them; then make them known."""
        known = await self._store.get("device", OwnDevice)
        if known is not None and (known.user_id, known.device_id) != (user_id, device_id):
            await self._store.forget_all()
            known = None
        if known is None:
            await self._check_unknown(user_id, device_id)
            account: Any = Account()
            account.generate_fallback_key()
            known = OwnDevice(user_id=user_id, device_id=device_id, account=account.pickle(PICKLE))
        self._record = known
        self.account = Account.from_pickle(known.account, PICKLE)
        await self.save()
        told = await self._client.call(
            "POST", "keys/upload", "keys", json={"device_keys": self.keys}
        )
        left = table(told, "one_time_key_counts").get(ONE_TIME, 0)
        await self.replenish(left if isinstance(left, int) else 0, needs_fallback=False)
        if not known.is_signed:
            await self._vouch()

    async def save(self) -> None:
        """Store the keys as they are now."""
        self._record.account = self.account.pickle(PICKLE)
        await self._store.put("device", self._record)

    @property
    def keys(self) -> Object:
        """The device's signed keys."""
        name = self.device_id
        keys: Object = {
            "user_id": self.user_id,
            "device_id": name,
            "algorithms": [OLM, MEGOLM],
            "keys": {f"curve25519:{name}": self.curve25519, f"ed25519:{name}": self.ed25519},
        }
        return signed(keys, user_id=self.user_id, key_id=name, sign=self._sign)

    async def replenish(self, left: int, *, needs_fallback: bool) -> None:
        """Give the homeserver one-time keys, stored first, if it has few of them left."""
        most = self.account.max_number_of_one_time_keys // 2
        missing = most - left - len(self.account.one_time_keys)
        if left >= most // 2 and not needs_fallback and not self.account.one_time_keys:
            return
        if missing > 0:
            self.account.generate_one_time_keys(missing)
        if needs_fallback:
            self.account.generate_fallback_key()
        await self.save()
        await self._client.call("POST", "keys/upload", "keys", json=self._one_time_keys())
        self.account.mark_keys_as_published()
        await self.save()

    def brought(self, ciphertext: str) -> str | None:
        """Return the session whose key a message brought that was read before; None for a new one."""
        return self._record.done.get(_digest(ciphertext))

    def note_done(self, ciphertext: str, *, brought: str) -> None:
        """Remember a message that was read; `save` makes it durable."""
        done = {**self._record.done, _digest(ciphertext): brought}
        self._record.done = dict(list(done.items())[-_MOST_DONE:])

    def _sign(self, data: bytes) -> str:
        return str(self.account.sign(data).to_base64())

    def _one_time_keys(self) -> Object:
        keys, spare = self.account.one_time_keys, self.account.fallback_key
        told: Object = {"one_time_keys": self._signed_keys(keys, {})}
        if spare:
            told["fallback_keys"] = self._signed_keys(spare, {"fallback": True})
        return told

    # Any: keys of the library.
    def _signed_keys(self, keys: Mapping[str, Any], more: Object) -> Object:
        return {
            f"{ONE_TIME}:{name}": signed(
                {"key": key.to_base64(), **more},
                user_id=self.user_id,
                key_id=self.device_id,
                sign=self._sign,
            )
            for name, key in keys.items()
        }

    async def _check_unknown(self, user_id: str, device_id: str) -> None:
        """Raise if the homeserver knows other keys of this device: nobody would trust new ones."""
        found = await self._client.call(
            "POST", "keys/query", "keys", json={"device_keys": {user_id: [device_id]}}
        )
        if table(table(found, "device_keys"), user_id).get(device_id):
            raise ConfigurationError(
                f"platforms.matrix.encryption: the device {device_id} has keys that this home does "
                "not have; sign in as the bot once more and set the new access_token, which is a new "
                "device"
            )

    async def _vouch(self) -> None:
        """Sign the device as its owner, if the account has no cross-signing keys but ours."""
        found = await self._client.call(
            "POST", "keys/query", "keys", json={"device_keys": {self.user_id: []}}
        )
        told = table(found, "master_keys").get(self.user_id)
        master = cross_key(told, user_id=self.user_id, usage="master")
        if not self._record.seeds and not master:
            self._record.seeds = {role: _new_seed() for role in _ROLES}
            await self.save()
        if master and master != self.owner_keys.get("master"):
            _log.warning("matrix.device_not_verified", **self.shown())
            return
        try:
            if not master:
                await self._upload_owner_keys()
            signed_keys = self._by_owner("self_signing", self.keys)
            body = {self.user_id: {self.device_id: signed_keys}}
            await self._client.call("POST", "keys/signatures/upload", "signatures", json=body)
        except DeliveryRejected as error:
            _log.warning("matrix.device_not_verified", **self.shown(), problem=str(error))
            return
        self._record.is_signed = True
        await self.save()

    async def _upload_owner_keys(self) -> None:
        public = self.owner_keys
        body: Object = {}
        for role in _ROLES:
            key: Object = {
                "user_id": self.user_id,
                "usage": [role],
                "keys": {f"ed25519:{public[role]}": public[role]},
            }
            body[f"{role}_key"] = key if role == "master" else self._by_owner("master", key)
        said = await self._client.ask("POST", "keys/device_signing/upload", json=body)
        session = text(table({"found": said.found}, "found").get("session"))
        if said.status == 401 and session and self._password:
            body["auth"] = {
                "type": "m.login.password",
                "identifier": {"type": "m.id.user", "user": self.user_id},
                "password": self._password,
                "session": session,
            }
            said = await self._client.ask("POST", "keys/device_signing/upload", json=body)
        self._client.success(said, "cross-signing keys")

    def _by_owner(self, role: str, value: Object) -> Object:
        seed = self._record.seeds[role]
        sign: Callable[[bytes], bytes] = Ed25519PrivateKey.from_private_bytes(decode64(seed)).sign
        return signed(
            value,
            user_id=self.user_id,
            key_id=_public(seed),
            sign=lambda data: encode64(sign(data)),
        )

    def shown(self) -> dict[str, str]:
        """Return what a person compares to verify this device."""
        key = self.ed25519
        spaced = " ".join(key[at : at + 4] for at in range(0, len(key), 4))
        return {"device": self.device_id, "key": spaced}


def _new_seed() -> str:
    return encode64(Ed25519PrivateKey.generate().private_bytes_raw())


def _public(seed: str) -> str:
    key = Ed25519PrivateKey.from_private_bytes(decode64(seed)).public_key()
    return encode64(key.public_bytes(Encoding.Raw, PublicFormat.Raw))


def _digest(ciphertext: str) -> str:
    return hashlib.sha256(ciphertext.encode("utf-8", "replace")).hexdigest()[:32]
