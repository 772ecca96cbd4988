"""Copies a whole graph into another storage: every branch, version, call, link and thumb.

Used for copies and pickles, and to save a graph into a file.
"""

import os
from collections.abc import Iterable
from typing import TypeVar

import msgspec

from hermes.errors import BadRequest, Conflict, NotFound
from hermes.graph.blob import Blob
from hermes.graph.chunk import Chunk, encode, id_of
from hermes.graph.family import GraphFamily, Now
from hermes.graph.files import FileStorage
from hermes.graph.hasher import PLAIN
from hermes.graph.history import History
from hermes.graph.persistence import checkout, histories, mark_kept, moves_of, note_saved, save
from hermes.graph.reader import ObjectReader
from hermes.graph.records import Call, Feedback, Link, Move
from hermes.graph.sequence import Sequence
from hermes.graph.storage import Batch, GraphStorage, MemoryStorage

_Item = TypeVar("_Item", Link, Feedback)
_LISTED = 20
# A branch with its graph: the names of both, who edits, the clock, and everything as one batch.
PackedGraph = tuple[str, str, str, Now | None, bytes]


class WholeGraph(msgspec.Struct, eq=False):
    """Everything of a graph as one batch, and the branches and chunks it was taken from."""

    batch: Batch
    branches: list[History]
    chunks: list[Chunk]


def whole_graph(family: GraphFamily) -> WholeGraph:
    """Return everything of a graph, from memory and from its storage."""
    names = sorted({*family.branches, *family.storage.branches(family.name)})
    whole = WholeGraph(Batch(blobs={}, chunks={}), [checkout(family, one) for one in names], [])
    for history in whole.branches:
        for version in history.versions:
            if version.root not in whole.batch.chunks:
                _take(whole, version.sequence(family.reader))
    for call in family.calls:
        if call.context not in whole.batch.chunks:
            unsaved = family.unsaved_contexts.get(call.context)
            _take(whole, unsaved or Sequence.read(call.context, family.reader))
    whole.batch.blobs |= _answers(family)
    whole.batch.moves = [move for history in whole.branches for move in moves_of(history)]
    whole.batch.calls = list(family.calls)
    whole.batch.links, whole.batch.feedback = list(family.links), list(family.feedback)
    return whole


def copied(history: History, known: dict[int, object]) -> History:
    """Return a branch with the same past in a graph of its own; `known` are graphs copied before."""
    family = known.get(id(history.family))
    if not isinstance(family, GraphFamily):
        family = _in_memory(whole_graph(history.family).batch, history.family)
        known[id(history.family)] = family
    return _resumed(family, history.branch, history.actor)


def packed(history: History) -> PackedGraph:
    """Return a branch and its whole graph in a form that can be pickled."""
    family = history.family
    if family.reader.hasher.blob(b"") != PLAIN.blob(b""):
        raise BadRequest(
            f"Graph {family.name!r} has keyed names, and its pickle would hold the key. Save it into "
            "a file, or pickle to_list()."
        )
    batch = msgspec.msgpack.encode(whole_graph(family).batch)
    return family.name, history.branch, history.actor, family.now, batch


def unpacked(parts: PackedGraph) -> History:
    """Return the branch that was packed."""
    name, branch, actor, now, batch = parts
    like = GraphFamily(name, MemoryStorage(), ObjectReader(None, PLAIN), now)
    family = _in_memory(msgspec.msgpack.decode(batch, type=Batch), like)
    return _resumed(family, branch, actor)


def save_into(history: History, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write a graph into a file, where it is saved from now on.

    Raises Conflict if the file has another graph of this name.
    """
    family, storage = history.family, FileStorage(path, hasher=history.family.reader.hasher)
    if not overwrite and _is_same(family.storage, storage):
        for branch in (history, *histories(family).values()):
            save(branch)
        return
    whole = whole_graph(family)
    if overwrite:
        storage.replace(family.name, whole.batch)
    else:
        storage.write(_lacking(whole.batch, family.name, storage))
    family.storage = family.reader.storage = storage
    family.is_stored = True
    mark_kept(whole.chunks)
    for branch in whole.branches:
        note_saved(branch)


def _is_same(one: GraphStorage, other: FileStorage) -> bool:
    return isinstance(one, FileStorage) and one.path.absolute() == other.path.absolute()


def graph_in(storage: FileStorage, name: str | None) -> str:
    """Return the name of the graph to open in a file: the one that is named, or the only one."""
    path, found = str(storage.path), list(storage.graphs())
    if not storage.path.exists():
        raise NotFound(f"There is no file {path!r}. save({path!r}) makes it.")
    if not found:
        raise NotFound(f"{path!r} holds no graph yet. save({path!r}) writes one into it.")
    if name is None and len(found) > 1:
        raise BadRequest(
            f"{path!r} holds several graphs: {_listed(found)}. Choose one with graph=..."
        )
    if name is not None and name not in found:
        raise NotFound(f"{path!r} has no graph {name!r}; it holds: {_listed(found)}.")
    return found[0] if name is None else name


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:_LISTED]))
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"


def _in_memory(batch: Batch, like: GraphFamily) -> GraphFamily:
    storage = MemoryStorage()
    storage.write(batch)
    reader = ObjectReader(storage, like.reader.hasher)
    return GraphFamily(like.name, storage, reader, like.now, is_stored=False)


def _resumed(family: GraphFamily, branch: str, actor: str) -> History:
    history = checkout(family, branch)
    history.actor = actor
    return history


def _take(whole: WholeGraph, sequence: Sequence) -> None:
    """Add all parts of a sequence to a batch, also those that the own storage has."""
    reader, waiting = sequence.reader, [sequence.top]
    while waiting:
        chunk = waiting.pop()
        name = id_of(chunk, reader.hasher) if chunk.items is not None else chunk.id
        if name is None or name in whole.batch.chunks:
            continue
        if chunk.level:
            waiting.extend(reader.chunks(chunk))
        else:
            blobs = reader.blobs(chunk)
            reader.read_blobs(blobs)
            whole.batch.blobs |= {one.id: one.data for one in blobs if one.data is not None}
        whole.batch.chunks[name] = encode(chunk, reader.hasher)
        whole.chunks.append(chunk)


def _answers(family: GraphFamily) -> dict[bytes, bytes]:
    """Return the answers and tools of all calls."""
    found = dict(family.unsaved_blobs)
    named = {name for call in family.calls for name in (call.response, call.tools) if name}
    missing = [Blob(name, None) for name in named if name not in found]
    family.reader.read_blobs(missing)
    return found | {blob.id: blob.data for blob in missing if blob.data is not None}


def _lacking(batch: Batch, graph: str, storage: GraphStorage) -> Batch:
    """Return what a storage lacks of a batch; raises Conflict if it has something else."""
    calls, links = storage.calls(graph), storage.links(graph)
    return Batch(
        blobs=batch.blobs,
        chunks=batch.chunks,
        moves=_new_moves(batch.moves, graph, storage),
        calls=_new_calls(batch.calls, {call.id: call for call in calls}, graph),
        links=_unknown(batch.links, links),
        feedback=_unknown(batch.feedback, storage.feedback(graph)),
    )


def _new_moves(moves: list[Move], graph: str, storage: GraphStorage) -> list[Move]:
    new: list[Move] = []
    for branch in dict.fromkeys(move.branch for move in moves):
        own = [move for move in moves if move.branch == branch]
        there = list(storage.moves(graph, branch))
        if there != own[: len(there)]:
            raise _taken(graph)
        new += own[len(there) :]
    return new


def _new_calls(calls: list[Call], there: dict[str, Call], graph: str) -> list[Call]:
    if any(there.get(call.id, call) != call for call in calls):
        raise _taken(graph)
    return [call for call in calls if call.id not in there]


def _unknown(items: list[_Item], there: Iterable[_Item]) -> list[_Item]:
    known = list(there)
    return [item for item in items if item not in known]


def _taken(graph: str) -> Conflict:
    return Conflict(
        f"The storage has another graph {graph!r} already. Nothing was written. Continue that one "
        "with MessageGraph.open(...), choose another name with MessageGraph(name=...) or another "
        "file, or replace it with save(..., overwrite=True)."
    )
