"""Reads the parts of a sequence from its storage on demand, many at a time.

A sequence that was made in memory has everything and never reads.
"""

from collections.abc import Iterable

from hermes.errors import NotFound, StoreError
from hermes.graph.blob import Blob
from hermes.graph.chunk import Chunk, blobs_of, chunks_of, decode, make_branch, make_leaf
from hermes.graph.hasher import Hasher
from hermes.graph.storage import ObjectStorage


class ObjectReader:
    """A storage together with the hasher that names what is in it."""

    __slots__ = ("hasher", "storage")

    def __init__(self, storage: ObjectStorage | None, hasher: Hasher) -> None:
        self.storage = storage
        self.hasher = hasher

    def blobs(self, leaf: Chunk) -> tuple[Blob, ...]:
        """Return the blobs of a leaf; their data may still be unread."""
        if leaf.items is None:
            self.read_chunks((leaf,))
        return blobs_of(leaf)

    def chunks(self, branch: Chunk) -> tuple[Chunk, ...]:
        """Return the chunks below a branch."""
        if branch.items is None:
            self.read_chunks((branch,))
        return chunks_of(branch)

    def read_root(self, root_id: bytes) -> Chunk:
        """Return the tree under `root_id`; only its top is read."""
        (data,) = self._fetch_chunks([root_id])
        level, items = decode(data, self.hasher)
        root = Chunk(level, items, 0, 0)
        made = make_branch(level, chunks_of(root)) if level else make_leaf(blobs_of(root))
        made.id, made.kept = root_id, True
        return made

    def read_chunks(self, chunks: Iterable[Chunk]) -> None:
        """Read the items of those chunks that lack them."""
        missing = [chunk for chunk in chunks if chunk.items is None]
        if not missing:
            return
        found = self._fetch_chunks([chunk.id for chunk in missing if chunk.id is not None])
        for chunk, data in zip(missing, found, strict=True):
            _, chunk.items = decode(data, self.hasher)

    def read_blobs(self, blobs: Iterable[Blob]) -> None:
        """Read the data of those blobs that lack it."""
        missing = [blob for blob in blobs if blob.data is None]
        if not missing:
            return
        ids = [blob.id for blob in missing]
        found = self._storage("blob", ids).get_blobs(ids)
        for blob in missing:
            if blob.id not in found:
                raise _absent("blob", blob.id)
            blob.data = found[blob.id]

    def _fetch_chunks(self, ids: list[bytes]) -> list[bytes]:
        found = self._storage("chunk", ids).get_chunks(ids)
        for one in ids:
            if one not in found:
                raise _absent("chunk", one)
            # A tree whose counts were changed on disk leads anywhere; a message by itself does not.
            if self.hasher.chunk(found[one]) != one:
                raise StoreError(
                    f"chunk {one.hex()} does not match its name: it was changed on disk, or the "
                    "key belongs to another storage. Run `hermes graph verify`."
                )
        return [found[one] for one in ids]

    def _storage(self, kind: str, ids: list[bytes]) -> ObjectStorage:
        if self.storage is None:
            raise _absent(kind, ids[0])
        return self.storage


def _absent(kind: str, name: bytes) -> NotFound:
    return NotFound(
        f"The storage has no {kind} {name.hex()}, which a sequence refers to. It was removed, or "
        "this is another storage or key. Run `hermes graph verify`."
    )
