"""A chunk: one node of the tree under a sequence, where it is cut, and its bytes.

Chunks end where their content says so, not after a fixed count. So equal sequences have equal
trees, whatever edits led to them, and an edit changes only the chunks around it
(docs/decisions/0014). A chunk knows only the names of messages.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import msgspec

from hermes.errors import StoreError
from hermes.graph.blob import Blob
from hermes.graph.hasher import Hasher

FAN_OUT = 32
SMALLEST = FAN_OUT // 2
LARGEST = FAN_OUT + FAN_OUT // 2
# One id in eight may end a chunk. With the bounds above a chunk holds 24 on average, so that an
# edit, which meets large chunks more often than small ones, writes about 27 names per level.
EDGE = 32
_FORMAT = 1
_HEADER = 2
# The height is stored beside the count; seven levels of 24 are four billion messages.
_HEIGHT_BITS = 3
_HIGHEST = (1 << _HEIGHT_BITS) - 1


class Chunk(msgspec.Struct, eq=False, gc=False):
    """A leaf (level 0) holds blobs, a branch holds chunks one level below.

    `items` is None until the chunk is read from the storage, `id` until it is needed. `height` is
    the number of levels that may be cut after the last message, `kept` is true if a storage has the
    chunk.
    """

    level: int
    items: "tuple[Chunk, ...] | tuple[Blob, ...] | None"
    count: int
    height: int
    id: bytes | None = None
    kept: bool = False


Item = Blob | Chunk


def blobs_of(leaf: Chunk) -> tuple[Blob, ...]:
    """Return the blobs of a leaf that has been read."""
    # The level says which of the two it holds; checking it at run time would double the read cost.
    return cast("tuple[Blob, ...]", leaf.items)


def chunks_of(branch: Chunk) -> tuple[Chunk, ...]:
    """Return the chunks below a branch that has been read."""
    return cast("tuple[Chunk, ...]", branch.items)


def height_of(blob_id: bytes) -> int:
    """Return how many levels of the tree may be cut after the blob of this name."""
    height = 0
    for byte in blob_id:
        if byte >= EDGE or height == _HIGHEST:
            break
        height += 1
    return height


def ends_chunk(size: int, height: int, level: int) -> bool:
    """Return whether a chunk of `level` with `size` items ends after an item of this `height`."""
    return size >= LARGEST or (size >= SMALLEST and height > level)


def make_leaf(blobs: Sequence[Blob]) -> Chunk:
    """Return a leaf of these blobs."""
    height = height_of(blobs[-1].id) if blobs else 0
    return Chunk(0, tuple(blobs), len(blobs), height)


def make_branch(level: int, chunks: Sequence[Chunk]) -> Chunk:
    """Return a branch over these chunks."""
    count = 0
    for chunk in chunks:
        count += chunk.count
    return Chunk(level, tuple(chunks), count, chunks[-1].height)


def is_closed(leaf: Chunk) -> bool:
    """Return whether the next message after this leaf starts a new one."""
    return ends_chunk(leaf.count, leaf.height, 0)


def id_of(chunk: Chunk, hasher: Hasher) -> bytes:
    """Return the chunk's name, which is computed once."""
    if chunk.id is None:
        chunk.id = hasher.chunk(encode(chunk, hasher))
    return chunk.id


def encode(chunk: Chunk, hasher: Hasher) -> bytes:
    """Return the bytes that a storage keeps and whose hash names the chunk."""
    header = bytes((_FORMAT, chunk.level))
    if chunk.level == 0:
        return header + b"".join([blob.id for blob in blobs_of(chunk)])
    below = chunks_of(chunk)
    sizes = [one.count << _HEIGHT_BITS | one.height for one in below]
    ids = [one.id or id_of(one, hasher) for one in below]
    return header + b"".join(ids) + _sizes(chunk.level, len(ids)).pack(*sizes)


def decode(data: bytes, hasher: Hasher) -> "tuple[int, tuple[Chunk, ...] | tuple[Blob, ...]]":
    """Return level and items of a stored chunk; the items themselves are not read yet."""
    if len(data) < _HEADER or data[0] != _FORMAT:
        raise StoreError(
            f"A stored chunk starts with byte {_FORMAT}, this one ({len(data)} bytes) does not: "
            "it was damaged, or a newer Hermes wrote it. Run `hermes graph verify`."
        )
    level, size = data[1], hasher.size
    width = size + (0 if level == 0 else _sizes(level, 1).size)
    number, rest = divmod(len(data) - _HEADER, width)
    if rest or (level and not number):
        raise StoreError(
            f"A stored chunk of level {level} has {len(data)} bytes, which is not {_HEADER} and a "
            f"multiple of {width}: it was damaged or named by another hasher. "
            "Run `hermes graph verify`."
        )
    end = _HEADER + number * size
    ids = [data[at : at + size] for at in range(_HEADER, end, size)]
    if level == 0:
        return level, tuple([Blob(one, None, True) for one in ids])
    sizes = _sizes(level, number).unpack(data[end:])
    return level, tuple(
        Chunk(level - 1, None, number >> _HEIGHT_BITS, number & _HIGHEST, one, True)
        for one, number in zip(ids, sizes, strict=True)
    )


# A damaged chunk may claim any number; an intact one has at most `LARGEST`.
@lru_cache(maxsize=_HIGHEST * LARGEST)
def _sizes(level: int, number: int) -> struct.Struct:
    """Return the encoding of the counts and heights of the chunks below."""
    return struct.Struct(f"<{number}H" if level == 1 else f"<{number}I")
