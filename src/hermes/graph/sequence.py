"""A sequence: messages in order as a persistent tree of chunks, whose root names a context.

Every change returns a new sequence that shares all but a few chunks with the old one. Equal
sequences have equal roots, whatever edits led to them. It knows blobs by name; only iterating reads
their data.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from hermes.graph.blob import Blob
from hermes.graph.builder import Builder, Cursor
from hermes.graph.chunk import (
    SMALLEST,
    Chunk,
    Item,
    ends_chunk,
    height_of,
    id_of,
    is_closed,
    make_branch,
    make_leaf,
)
from hermes.graph.hasher import Hasher
from hermes.graph.reader import ObjectReader


class Sequence:
    """Immutable; a copy is the value itself, and every edit costs O(log n)."""

    __slots__ = ("_reader", "_root")

    def __init__(self, root: Chunk, reader: ObjectReader) -> None:
        self._root = root
        self._reader = reader

    @classmethod
    def of(cls, blobs: Iterable[Blob], reader: ObjectReader) -> "Sequence":
        """Return a sequence of these blobs."""
        builder = Builder()
        builder.add(blobs)
        return cls(builder.finish(), reader)

    @classmethod
    def read(cls, root_id: bytes, reader: ObjectReader) -> "Sequence":
        """Return the stored sequence of this root; its parts are read when they are needed."""
        return cls(reader.read_root(root_id), reader)

    def __len__(self) -> int:
        return self._root.count

    @property
    def root(self) -> bytes:
        """The name of this context."""
        return id_of(self._root, self._reader.hasher)

    @property
    def top(self) -> Chunk:
        """The topmost chunk, for storing or checking the tree."""
        return self._root

    @property
    def reader(self) -> ObjectReader:
        """Reads the parts that are not in memory."""
        return self._reader

    def blob(self, index: int) -> Blob:
        """Return the blob at an index from 0 on, with its data."""
        node = self._root
        while node.level:
            for below in self._reader.chunks(node):
                if index < below.count:
                    node = below
                    break
                index -= below.count
            else:
                raise IndexError("there is no message at this index")
        blob = self._reader.blobs(node)[index]
        if blob.data is None:
            self._reader.read_blobs((blob,))
        return blob

    def blobs(self, start: int = 0, stop: int | None = None) -> Iterator[Blob]:
        """Iterate over blobs with their data."""
        stop = len(self) if stop is None else min(stop, len(self))
        for position, leaves in self._leaf_groups(start, stop):
            found = list(chain.from_iterable(map(self._reader.blobs, leaves)))
            wanted = found[max(0, start - position) : stop - position]
            self._reader.read_blobs(wanted)
            yield from wanted

    def names(self, start: int, stop: int) -> Iterator[Blob]:
        """Iterate over blobs whose data may still be unread."""
        for position, leaves in self._leaf_groups(start, stop):
            found = list(chain.from_iterable(map(self._reader.blobs, leaves)))
            yield from found[max(0, start - position) : stop - position]

    def leaves(self) -> Iterator[Chunk]:
        """Iterate over the leaves, without reading the data of their blobs."""
        for _, leaves in self._leaf_groups(0, len(self)):
            yield from leaves

    def append(self, blob: Blob) -> "Sequence":
        """Return this sequence with one more blob."""
        made = self._appended(self._root, blob)
        if len(made) == 2:
            return Sequence(make_branch(self._root.level + 1, made), self._reader)
        return Sequence(made[0], self._reader)

    def splice(self, start: int, stop: int, blobs: Iterable[Blob]) -> "Sequence":
        """Return this sequence with the blobs from `start` to `stop` replaced by `blobs`."""
        builder = Builder.after(self._root, start, self._reader)
        builder.add(blobs)
        builder.add_rest(self._root, stop, self._reader)
        return Sequence(builder.finish(), self._reader)

    def replace(self, index: int, blob: Blob) -> "Sequence":
        """Return this sequence with another blob at `index`."""
        made = self._replaced(self._root, index, blob)
        if made is None:
            return self.splice(index, index + 1, (blob,))
        return Sequence(made, self._reader)

    def take(self, length: int) -> "Sequence":
        """Return the first `length` blobs as a sequence."""
        if length >= len(self):
            return self
        return Sequence(Builder.after(self._root, length, self._reader).finish(), self._reader)

    def common_prefix(self, other: "Sequence", start: int = 0, *, other_start: int = 0) -> int:
        """Return how many blobs both begin with in common, comparing whole chunks if possible."""
        equal = 0
        one = Cursor(self._root, start, self._reader)
        two = Cursor(other.top, other_start, other.reader)
        while not (one.done or two.done):
            if one.level != two.level:
                (one if one.level > two.level else two).descend()
                continue
            count = _equal_count(one.item(), two.item(), self._reader.hasher)
            if not count and one.level == 0:
                return equal
            for cursor in (one, two):
                cursor.advance() if count else cursor.descend()
            equal += count
        return equal

    def starts_with(self, other: "Sequence") -> bool:
        """Return whether `other` is a prefix of this sequence."""
        return len(other) <= len(self) and self.common_prefix(other) == len(other)

    def _leaf_groups(self, start: int, stop: int) -> Iterator[tuple[int, list[Chunk]]]:
        # Adjacent leaves are read together: one query to the storage for several hundred messages.
        # The stack avoids recursion.
        stack = [(0, self._root)]
        while stack:
            position, node = stack.pop()
            if node.level == 0:
                yield position, [node]
                continue
            wanted = []
            for below in self._reader.chunks(node):
                if position < stop and position + below.count > start:
                    wanted.append((position, below))
                position += below.count
            if node.level == 1 and wanted:
                leaves = [leaf for _, leaf in wanted]
                self._reader.read_chunks(leaves)
                yield wanted[0][0], leaves
            else:
                stack.extend(reversed(wanted))

    def _appended(self, node: Chunk, blob: Blob) -> tuple[Chunk, ...]:
        # One chunk if the blob still fits into `node`, otherwise two.
        if node.level == 0:
            if is_closed(node):
                return node, make_leaf((blob,))
            return (make_leaf((*self._reader.blobs(node), blob)),)
        below = self._reader.chunks(node)
        made = self._appended(below[-1], blob)
        if len(made) == 2 and ends_chunk(len(below), made[0].height, node.level):
            return node, make_branch(node.level, made[1:])
        items = (*below[:-1], *made)
        return (Chunk(node.level, items, node.count + 1, made[-1].height),)

    def _replaced(self, node: Chunk, index: int, blob: Blob) -> Chunk | None:
        # None if the new blob moves the end of a chunk, so that its neighbours change, too.
        if node.level == 0:
            blobs = self._reader.blobs(node)
            height, is_last = height_of(blob.id), index == node.count - 1
            fits = height == node.height if is_last else not height or index + 1 < SMALLEST
            if not fits:
                return None
            return Chunk(0, (*blobs[:index], blob, *blobs[index + 1 :]), node.count, node.height)
        below, at = self._reader.chunks(node), 0
        while index >= below[at].count:
            index -= below[at].count
            at += 1
        made = self._replaced(below[at], index, blob)
        if made is None:
            return None
        items = (*below[:at], made, *below[at + 1 :])
        return Chunk(node.level, items, node.count, node.height)


def _equal_count(one: Item, two: Item, hasher: Hasher) -> int:
    if isinstance(one, Blob) or isinstance(two, Blob):
        return int(one.id == two.id)
    if one is two:
        return one.count
    if one.count != two.count or id_of(one, hasher) != id_of(two, hasher):
        return 0
    return one.count
