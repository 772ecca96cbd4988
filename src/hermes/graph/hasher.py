"""How blobs, chunks and calls are named: by a hash, plain for exports or keyed for a store.

A keyed name reveals nothing about the text without the key; a plain one can be recomputed by
anybody who has the text. The graph takes either as a parameter and never chooses.
"""

import hashlib
from collections.abc import Callable
from typing import Protocol

from hermes.errors import BadRequest

Digest = Callable[[bytes], bytes]

PLAIN_SIZE = 32
KEYED_SIZE = 16
_SHORTEST_KEY = 16
_LONGEST_KEY = 64


class _Hash(Protocol):
    def copy(self) -> "_Hash": ...
    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


class Hasher:
    """Names things by their bytes; the kind is part of the name, so kinds never collide."""

    __slots__ = ("blob", "call", "chunk", "size", "tools")

    def __init__(self, start: Callable[[bytes], _Hash], *, size: int) -> None:
        self.size = size
        self.blob = _digest(start(b"hermes.blob"))
        self.chunk = _digest(start(b"hermes.chunk"))
        self.call = _digest(start(b"hermes.call"))
        self.tools = _digest(start(b"hermes.tools"))


def _digest(seed: _Hash) -> Digest:
    def digest(data: bytes) -> bytes:
        state = seed.copy()
        state.update(data)
        return state.digest()

    return digest


def plain_hasher() -> Hasher:
    """Return the hasher of exports: SHA-256, which anybody can check."""
    return Hasher(lambda kind: hashlib.sha256(kind + b"\x00"), size=PLAIN_SIZE)


def keyed_hasher(key: bytes) -> Hasher:
    """Return the hasher of a store: 16 bytes of BLAKE2b under `key`."""
    if not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY:
        raise BadRequest(
            f"The key of a hasher has {_SHORTEST_KEY} to {_LONGEST_KEY} bytes, this one has "
            f"{len(key)}. Make one with os.urandom(32)."
        )
    return Hasher(
        lambda kind: hashlib.blake2b(key=key, person=kind, digest_size=KEYED_SIZE),
        size=KEYED_SIZE,
    )


PLAIN = plain_hasher()
