"""Builds the tree of a sequence from left to right and reuses chunks that still fit.

It holds the open chunk of each level. An edit takes the part before it from the old tree, adds the
new messages, and returns to the old tree at the first place where both are cut alike.
"""

from collections.abc import Iterable
from typing import cast

from hermes.graph.blob import Blob
from hermes.graph.chunk import Chunk, Item, ends_chunk, height_of, make_branch, make_leaf
from hermes.graph.reader import ObjectReader


class Builder:
    """The right edge of a tree under construction; `open[level]` is that level's last chunk."""

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open: list[list[Item]] = [[]]

    @classmethod
    def after(cls, root: Chunk, length: int, reader: ObjectReader) -> "Builder":
        """Return a builder that holds the first `length` messages under `root`."""
        made = cls()
        made.open = [[] for _ in range(root.level + 2)]
        node = root
        while node.level:
            below = reader.chunks(node)
            at = 0
            while at < len(below) - 1 and length >= below[at].count:
                length -= below[at].count
                at += 1
            made.open[node.level] = list(below[:at])
            node = below[at]
        made.open[0] = list(reader.blobs(node)[:length])
        if made.open[0] and ends_chunk(length, _height(made.open[0][-1]), 0):
            made._close(0)
        return made

    def add(self, blobs: Iterable[Blob]) -> None:
        """Append messages."""
        for blob in blobs:
            self.push(0, blob)

    def push(self, level: int, item: Item) -> None:
        """Append one item to the open chunk of `level`; nothing below may be open."""
        chunk = self.open[level]
        chunk.append(item)
        if ends_chunk(len(chunk), _height(item), level):
            self._close(level)

    def add_rest(self, root: Chunk, position: int, reader: ObjectReader) -> None:
        """Append everything under `root` from `position` on, by whole chunks where they fit."""
        cursor = Cursor(root, position, reader)
        while not cursor.done:
            closed = self._closed_levels()
            while cursor.level > closed:
                cursor.descend()
            self.push(cursor.level, cursor.item())
            cursor.advance()

    def finish(self) -> Chunk:
        """Return the tree; it depends only on the messages."""
        carried: list[Item] = []
        for level, chunk in enumerate(self.open):
            items = [*chunk, *carried]
            if not items:
                continue
            is_top = not any(self.open[level + 1 :])
            if is_top and level and len(items) == 1:
                return cast(Chunk, items[0])  # Only blobs are at level 0.
            carried = [_make(level, items)]
            if is_top:
                return cast(Chunk, carried[0])  # It was created one line above.
        return make_leaf(())

    def _close(self, level: int) -> None:
        node = _make(level, self.open[level])
        self.open[level] = []
        if level + 1 == len(self.open):
            self.open.append([])
        self.push(level + 1, node)

    def _closed_levels(self) -> int:
        for level, chunk in enumerate(self.open):
            if chunk:
                return level
        return len(self.open)


class Cursor:
    """A place in a tree: the largest item that starts there and was not descended into."""

    __slots__ = ("_path", "_reader", "done", "level")

    def __init__(self, root: Chunk, position: int, reader: ObjectReader) -> None:
        self._reader = reader
        # One step of the path: the sibling items, and the index among them.
        self._path: list[tuple[tuple[Item, ...], int]] = []
        self.level = root.level + 1
        self.done = position >= root.count
        node = root
        while not self.done and self.level:
            items = self._items(node)
            self.level -= 1
            at = 0
            if self.level == 0:
                at, position = position, 0
            while position and position >= _count(items[at]):
                position -= _count(items[at])
                at += 1
            self._path.append((items, at))
            if not position:
                break
            node = cast(Chunk, items[at])  # Only items above level 0 have positions inside.

    def item(self) -> Item:
        """Return the item that starts here."""
        items, at = self._path[-1]
        return items[at]

    def descend(self) -> None:
        """Go to the first item inside this one."""
        inside = self._items(cast(Chunk, self.item()))  # Blobs are at level 0, with none below.
        self._path.append((inside, 0))
        self.level -= 1

    def advance(self) -> None:
        """Go to the place after this item."""
        while self._path:
            items, at = self._path.pop()
            if at + 1 < len(items):
                self._path.append((items, at + 1))
                return
            self.level += 1
        self.done = True

    def _items(self, chunk: Chunk) -> tuple[Item, ...]:
        return self._reader.chunks(chunk) if chunk.level else self._reader.blobs(chunk)


def _height(item: Item) -> int:
    return height_of(item.id) if isinstance(item, Blob) else item.height


def _count(item: Item) -> int:
    return 1 if isinstance(item, Blob) else item.count


def _make(level: int, items: list[Item]) -> Chunk:
    # The level decides what an open chunk holds.
    if level == 0:
        return make_leaf(cast(list[Blob], items))
    return make_branch(level, cast(list[Chunk], items))
