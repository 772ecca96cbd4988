"""Ed25519 signatures with keys as platforms hand them out; loaded when one is first checked.

A key is `hex:` and the key's bytes, or a secret, which makes the pair by being repeated up to 32 bytes.
"""

import binascii
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

_SEED_BYTES = 32
_HEX = "hex:"


def is_signed_by(key: str, signature: bytes, *, signed: bytes) -> bool:
    """Return whether a signature in hex is that of the key's owner over what was signed."""
    public = _public_key(key)
    if public is None:
        return False
    try:
        public.verify(binascii.unhexlify(signature), signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def signature_by(key: str, signed: bytes) -> str:
    """Return the signature of a private key, in hex."""
    return _private_key(key).sign(signed).hex()


def public_key_of(private: str) -> str:
    """Return the public key of a private one, both in hex."""
    return _private_key(_HEX + private).public_key().public_bytes_raw().hex()


@lru_cache(maxsize=64)
def _public_key(key: str) -> Ed25519PublicKey | None:
    if not key.startswith(_HEX):
        return _private_key(key).public_key()
    try:
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.removeprefix(_HEX)))
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _private_key(key: str) -> Ed25519PrivateKey:
    if key.startswith(_HEX):
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(key.removeprefix(_HEX)))
    seed = key.encode()
    repeated = seed * (_SEED_BYTES // max(1, len(seed)) + 1)
    return Ed25519PrivateKey.from_private_bytes(repeated[:_SEED_BYTES])
