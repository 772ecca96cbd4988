"""Signed objects of Matrix, and the keys of devices that they hold. Pure."""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

OLM: Final = "m.olm.v1.curve25519-aes-sha2"
MEGOLM: Final = "m.megolm.v1.aes-sha2"
_UNSIGNED: Final = frozenset({"signatures", "unsigned"})

# Any: JSON of the API.
Object = dict[str, Any]
# Returns the signature of some bytes.
Sign = Callable[[bytes], str]


class Device(msgspec.Struct, frozen=True):
    """A device of somebody: its keys are signed by themselves; `is_verified` if by its owner, too."""

    id: str
    curve25519: str
    ed25519: str
    is_verified: bool = False


def canonical(value: Mapping[str, Any]) -> bytes:
    """Return an object in the form that is signed."""
    bare = {name: item for name, item in value.items() if name not in _UNSIGNED}
    text = json.dumps(bare, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.encode("utf-8", "replace")


def signed(value: Object, *, user_id: str, key_id: str, sign: Sign) -> Object:
    """Return an object with one more signature."""
    mine = {f"ed25519:{key_id}": sign(canonical(value))}
    signatures = table(value, "signatures")
    own = {**table(signatures, user_id), **mine}
    return {**value, "signatures": {**signatures, user_id: own}}


def is_signed(value: object, *, user_id: str, key_id: str, key: str) -> bool:
    """Return whether an object holds a valid signature of a key."""
    if not isinstance(value, dict):
        return False
    signature = table(table(value, "signatures"), user_id).get(f"ed25519:{key_id}")
    try:
        public = Ed25519PublicKey.from_public_bytes(decode64(key))
        public.verify(decode64(signature), canonical(value))
    except (ValueError, RecursionError, InvalidSignature):
        return False
    return True


def read_device(told: object, *, user_id: str, device_id: str, owner_key: str) -> Device | None:
    """Return a device from its signed keys; None if they are not what they claim to be.

    `owner_key` is the key with which its owner signs devices, if it is known.
    """
    if not isinstance(told, dict):
        return None
    keys = table(told, "keys")
    curve, ed = text(keys.get(f"curve25519:{device_id}")), text(keys.get(f"ed25519:{device_id}"))
    is_named = told.get("user_id") == user_id and told.get("device_id") == device_id
    if not (is_named and curve and is_signed(told, user_id=user_id, key_id=device_id, key=ed)):
        return None
    is_verified = bool(owner_key) and is_signed(
        told, user_id=user_id, key_id=owner_key, key=owner_key
    )
    return Device(device_id, curve, ed, is_verified)


def cross_key(told: object, *, user_id: str, usage: str) -> str:
    """Return a cross-signing key of somebody, or an empty text."""
    if not isinstance(told, dict) or told.get("user_id") != user_id:
        return ""
    usages, keys = told.get("usage"), table(told, "keys")
    if not isinstance(usages, list) or usage not in usages or len(keys) != 1:
        return ""
    [(name, key)] = keys.items()
    return key if isinstance(key, str) and name == f"ed25519:{key}" else ""


def table(value: object, name: str) -> Object:
    """Return an object inside another; empty if there is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def text(value: object) -> str:
    """Return a text, or an empty one."""
    return value if isinstance(value, str) else ""


def encode64(data: bytes) -> str:
    """Return bytes in unpadded base64."""
    return base64.b64encode(data).decode().rstrip("=")


def decode64(value: object) -> bytes:
    """Return the bytes of unpadded base64, also of the form for addresses; raise `ValueError`."""
    plain = text(value).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
