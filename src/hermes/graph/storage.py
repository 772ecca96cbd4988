"""The protocol that a graph store implements, and an in-memory implementation.

Blobs and chunks are named by their content, so they are only ever added. Refs move by
compare-and-swap. One batch is one transaction: all of it is stored, or nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from hermes.errors import Conflict
from hermes.graph.records import Call, Feedback, Link, Move, Ref


class Batch(msgspec.Struct):
    """What one save writes; the moves of each branch are in order, oldest first.

    The tools of a call are stored among the blobs, under their own kind of name.
    """

    blobs: dict[bytes, bytes] = {}
    chunks: dict[bytes, bytes] = {}
    moves: list[Move] = []
    calls: list[Call] = []
    links: list[Link] = []
    feedback: list[Feedback] = []


class ObjectStorage(Protocol):
    """Reads blobs and chunks by name; missing ones are left out of the result."""

    def get_blobs(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the bytes of stored blobs; raises PersonErased for erased ones."""

    def get_chunks(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the bytes of stored chunks."""


class GraphStorage(ObjectStorage, Protocol):
    """Stores graphs; `write` is one transaction."""

    def write(self, batch: Batch) -> None:
        """Store `batch`; raises Conflict if its branch is not at the version before its moves."""

    def branches(self, graph: str) -> Mapping[str, Ref]:
        """Return the head of each branch of a graph."""

    def moves(self, graph: str, branch: str) -> Sequence[Move]:
        """Return the log of a branch, oldest first."""

    def calls(self, graph: str) -> Sequence[Call]:
        """Return the calls of all branches of a graph, oldest first."""

    def links(self, graph: str) -> Sequence[Link]:
        """Return the links from a graph to others."""

    def feedback(self, graph: str) -> Sequence[Feedback]:
        """Return the thumbs of a graph, oldest first."""


class MemoryStorage:
    """Implements `GraphStorage` in memory, with the same guarantees until the process ends."""

    def __init__(self) -> None:
        self._blobs: dict[bytes, bytes] = {}
        self._chunks: dict[bytes, bytes] = {}
        self._moves: defaultdict[tuple[str, str], list[Move]] = defaultdict(list)
        self._calls: defaultdict[str, list[Call]] = defaultdict(list)
        self._links: defaultdict[str, list[Link]] = defaultdict(list)
        self._feedback: defaultdict[str, list[Feedback]] = defaultdict(list)

    def get_blobs(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the bytes of stored blobs."""
        return _found(self._blobs, ids)

    def get_chunks(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the bytes of stored chunks."""
        return _found(self._chunks, ids)

    def write(self, batch: Batch) -> None:
        """Store `batch`; raises Conflict if its branch is not at the version before its moves."""
        check_moves(batch.moves, self._current)
        self._blobs |= batch.blobs
        self._chunks |= batch.chunks
        for move in batch.moves:
            self._moves[move.graph, move.branch].append(move)
        for call in batch.calls:
            self._calls[call.graph].append(call)
        for link in batch.links:
            self._links[link.graph].append(link)
        for thumb in batch.feedback:
            self._feedback[thumb.graph].append(thumb)

    def branches(self, graph: str) -> Mapping[str, Ref]:
        """Return the head of each branch of a graph."""
        names = [branch for owner, branch in self._moves if owner == graph]
        found = ((branch, self._current(graph, branch)) for branch in names)
        return {branch: ref for branch, ref in found if ref is not None}

    def moves(self, graph: str, branch: str) -> Sequence[Move]:
        """Return the log of a branch, oldest first."""
        return tuple(self._moves.get((graph, branch), ()))

    def calls(self, graph: str) -> Sequence[Call]:
        """Return the calls of all branches of a graph, oldest first."""
        return tuple(self._calls.get(graph, ()))

    def links(self, graph: str) -> Sequence[Link]:
        """Return the links from a graph to others."""
        return tuple(self._links.get(graph, ()))

    def feedback(self, graph: str) -> Sequence[Feedback]:
        """Return the thumbs of a graph, oldest first."""
        return tuple(self._feedback.get(graph, ()))

    def size(self) -> int:
        """Return how many bytes of blobs and chunks are stored, names included."""
        kept = (self._blobs, self._chunks)
        return sum(len(name) + len(data) for kind in kept for name, data in kind.items())

    def _current(self, graph: str, branch: str) -> Ref | None:
        moves = self._moves.get((graph, branch))
        return ref_after(moves[-1]) if moves else None


class _CurrentRef(Protocol):
    def __call__(self, graph: str, branch: str, /) -> Ref | None: ...


def ref_after(move: Move) -> Ref:
    """Return the head of a branch after `move`."""
    return Ref(move.after, move.length, move.number)


def check_moves(moves: Iterable[Move], current: _CurrentRef) -> None:
    """Raise Conflict unless the head is at the version where the moves begin."""
    reached: dict[tuple[str, str], Ref] = {}
    for move in moves:
        name = (move.graph, move.branch)
        now = reached.get(name) or current(*name)
        root, number = (now.root, now.version + 1) if now else (None, 0)
        if (move.before, move.number) != (root, number):
            raise Conflict(
                f"Branch {move.branch!r} of graph {move.graph!r} is at version {number - 1}, "
                f"not at {move.number - 1} where this change began: another writer moved it. "
                "Nothing was written. Open the graph again and repeat the change, or keep it with "
                "branch(NAME).save()."
            )
        reached[name] = ref_after(move)


def _found(kept: Mapping[bytes, bytes], ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
    return {one: kept[one] for one in ids if one in kept}
