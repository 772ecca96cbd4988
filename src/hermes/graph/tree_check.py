"""Checks trees of chunks: every name is recomputed, every count and every cut is checked.

Problems are collected, not raised: one damaged chunk does not hide the next. Chunks that several
trees share are checked once.
"""

from collections.abc import Sequence as Many
from typing import Literal

import msgspec

from hermes.errors import BadRequest, HermesError, NotFound, PersonErased
from hermes.graph.blob import Blob, canonical
from hermes.graph.chunk import Chunk, Item, encode, ends_chunk, height_of, id_of
from hermes.graph.reader import ObjectReader
from hermes.graph.sequence import Sequence

Trouble = Literal["missing", "erased", "damaged", "inconsistent"]


class Problem(msgspec.Struct, frozen=True):
    """One fault, and where it was found."""

    trouble: Trouble
    where: str
    text: str


class TreeCheck:
    """Collects faults in trees."""

    def __init__(self, reader: ObjectReader) -> None:
        self.problems: list[Problem] = []
        self.blobs: set[bytes] = set()
        self._chunks: set[tuple[bytes, bool]] = set()
        self._unreadable: set[bytes] = set()
        self._reader = reader

    @property
    def chunks(self) -> int:
        """How many different chunks were checked."""
        return len({name for name, _ in self._chunks})

    def unreadable(self, problem: HermesError, where: str) -> None:
        """Record a reader's error as a problem."""
        trouble: Trouble = "damaged"
        if isinstance(problem, PersonErased):
            trouble = "erased"
        elif isinstance(problem, NotFound):
            trouble = "missing"
        self.problems.append(Problem(trouble, where, str(problem)))

    def tree(self, sequence: Sequence, where: str) -> None:
        """Check everything under a sequence that was not checked before."""
        stack = [(sequence.top, True)]
        while stack:
            chunk, is_last = stack.pop()
            name = id_of(chunk, self._reader.hasher)
            if (name, is_last) in self._chunks:
                continue
            self._chunks.add((name, is_last))
            try:
                items: Many[Item] = (
                    self._reader.chunks(chunk) if chunk.level else self._reader.blobs(chunk)
                )
            except HermesError as problem:
                self.unreadable(problem, where)
                continue
            if not self._chunk(chunk, items, where, is_last=is_last):
                continue
            for at, item in enumerate(items):
                if isinstance(item, Chunk):
                    stack.append((item, is_last and at == len(items) - 1))
            self._read([item for item in items if isinstance(item, Blob)], where)

    def blob(self, blob: Blob, where: str) -> None:
        """Check one blob that has been read."""
        if blob.id in self.blobs or blob.data is None:
            return
        self.blobs.add(blob.id)
        if self._reader.hasher.blob(blob.data) != blob.id:
            self._wrong("damaged", where, f"blob {blob.id.hex()} does not match its name")
            return
        try:
            same = canonical(blob.message()) == blob.data
        except (BadRequest, msgspec.DecodeError):
            same = False
        if not same:
            self._wrong(
                "damaged", where, f"blob {blob.id.hex()} is not a message in canonical form"
            )

    def _chunk(self, chunk: Chunk, items: Many[Item], where: str, *, is_last: bool) -> bool:
        named = f"chunk {id_of(chunk, self._reader.hasher).hex()}"
        if self._reader.hasher.chunk(encode(chunk, self._reader.hasher)) != chunk.id:
            self._wrong("damaged", where, f"{named} does not match its name")
            return False
        count = sum(1 if isinstance(item, Blob) else item.count for item in items)
        heights = [height_of(i.id) if isinstance(i, Blob) else i.height for i in items]
        if (count, heights[-1] if heights else 0) != (chunk.count, chunk.height):
            self._wrong("inconsistent", where, f"{named} does not hold what its parent says")
        ends = [ends_chunk(n, height, chunk.level) for n, height in enumerate(heights, 1)]
        if any(ends[:-1]) or not (is_last or ends[-1]):
            self._wrong("inconsistent", where, f"{named} is not cut where its content requires")
        return True

    def _read(self, blobs: list[Blob], where: str) -> None:
        new = [
            blob for blob in blobs if blob.id not in self.blobs and blob.id not in self._unreadable
        ]
        try:
            self._reader.read_blobs(new)
        except HermesError:
            # One by one, so that the others of this leaf are still checked.
            for blob in new:
                try:
                    self._reader.read_blobs((blob,))
                except HermesError as problem:
                    self._unreadable.add(blob.id)
                    self.unreadable(problem, where)
        for blob in new:
            self.blob(blob, where)

    def _wrong(self, trouble: Trouble, where: str, text: str) -> None:
        self.problems.append(Problem(trouble, where, text))
