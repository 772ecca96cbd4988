"""Names a store key without showing it, and signs with it; for backups, which never contain it."""

import hashlib
import hmac

from hermes.errors import StoreError

_PRINT = b"hermes-key-print"
_SIGN = b"hermes-sign"


def key_print(key_file: bytes) -> str:
    """Return the fingerprint of the only key in a key file.

    Raises `StoreError` if there are several: a rotation is under way, and some data needs the old
    key, which will be gone soon.
    """
    return _digest(_only_key(key_file), _PRINT).hex()[:16]


def sign(key_file: bytes, content: bytes) -> str:
    """Return a signature that only the holder of the key could make."""
    return hmac.digest(_digest(_only_key(key_file), _SIGN), content, "sha256").hex()


def is_signed(key_file: bytes, content: bytes, signature: str) -> bool:
    """Return whether the holder of the key signed the content."""
    return hmac.compare_digest(sign(key_file, content).encode(), signature.encode())


def _digest(key: bytes, purpose: bytes) -> bytes:
    return hashlib.blake2b(key, person=purpose, digest_size=32).digest()


def _only_key(key_file: bytes) -> bytes:
    keys = key_file.split()
    if len(keys) != 1:
        raise StoreError(
            f"the store's key file has {len(keys)} keys, expected one: the rotation of the key runs "
            "now or was cut off. Finish it with `hermes keys rotate-store`, then try again"
        )
    return keys[0]
