"""Attachments of encrypted rooms: AES-CTR with a key of their own, and a hash of what was uploaded. Pure."""

import hashlib
import os
import re
from typing import Final

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hermes.channels.matrix.encryption.signatures import Object, decode64, encode64, table, text
from hermes.errors import BadRequest

# What follows the address in a reference: key, start of the counter, hash.
_SECRET: Final = re.compile(r"([\w-]{43})\.([\w-]{22})\.([\w-]{43})")


def seal(data: bytes) -> tuple[bytes, Object]:
    """Return encrypted bytes, and what opens them, without their address."""
    key, start = os.urandom(32), os.urandom(8) + bytes(8)
    sealed = _apply(data, key, start)
    jwk = {"kty": "oct", "alg": "A256CTR", "ext": True, "key_ops": ["encrypt", "decrypt"]}
    return sealed, {
        "v": "v2",
        "key": {**jwk, "k": _for_address(key)},
        "iv": encode64(start),
        "hashes": {"sha256": encode64(hashlib.sha256(sealed).digest())},
    }


def secret_of(file: Object) -> str:
    """Return what opens an attachment as a text; raise `BadRequest`."""
    key = table(file, "key")
    values = (key.get("k"), file.get("iv"), table(file, "hashes").get("sha256"))
    try:
        found = ".".join(_for_address(decode64(text(value))) for value in values)
    except ValueError:
        found = ""
    is_known = file.get("v") == "v2" and key.get("alg") == "A256CTR"
    if not is_known or _SECRET.fullmatch(found) is None:
        raise BadRequest("matrix: an encrypted attachment does not say how it is opened")
    return found


def unseal(sealed: bytes, secret: str) -> bytes:
    """Return the bytes of an attachment; raise `BadRequest` if it is not what was sent."""
    found = _SECRET.fullmatch(secret)
    if found is None:
        raise BadRequest("matrix: the attachment's reference does not say how it is opened")
    key, start, digest = map(decode64, found.groups())
    if hashlib.sha256(sealed).digest() != digest:
        raise BadRequest("matrix: an encrypted attachment is not what was sent")
    return _apply(sealed, key, start)


def _apply(data: bytes, key: bytes, start: bytes) -> bytes:
    # Encryption and decryption are the same in this mode.
    work = Cipher(algorithms.AES(key), modes.CTR(start)).encryptor()
    return work.update(data) + work.finalize()


def _for_address(data: bytes) -> str:
    return encode64(data).replace("+", "-").replace("/", "_")
