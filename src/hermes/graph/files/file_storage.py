"""Stores message graphs in one file, without a gateway: `graph.save("talk.db")`.

One file may hold several graphs. A batch is one transaction, and it is refused if the file lacks
something that it refers to, so that every version in the file can be read.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from hermes.errors import Conflict, StoreDamaged
from hermes.graph.chunk import decode
from hermes.graph.files.file_upkeep import FreedSpace, collect, drop_graph
from hermes.graph.files.graph_file import SQL, GraphFile
from hermes.graph.hasher import PLAIN, Hasher
from hermes.graph.records import Call, Feedback, Link, Move, Ref
from hermes.graph.storage import Batch, check_moves, ref_after

_encode = msgspec.msgpack.Encoder().encode
_Row = TypeVar("_Row")
_Decode = Callable[[bytes], _Row]
_move: _Decode[Move] = msgspec.msgpack.Decoder(Move).decode
_call: _Decode[Call] = msgspec.msgpack.Decoder(Call).decode
_link: _Decode[Link] = msgspec.msgpack.Decoder(Link).decode
_feedback: _Decode[Feedback] = msgspec.msgpack.Decoder(Feedback).decode


class FileStorage:
    """Implements `GraphStorage` in a file; the file is created by the first write."""

    def __init__(self, path: str | os.PathLike[str], *, hasher: Hasher = PLAIN) -> None:
        self.path = Path(path)
        self._hasher = hasher
        self._file = GraphFile(self.path, hasher)

    def __repr__(self) -> str:
        return f"FileStorage({str(self.path)!r})"

    def get_blobs(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the bytes of stored blobs."""
        return self._named("blob", ids)

    def get_chunks(self, ids: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the bytes of stored chunks."""
        return self._named("chunk", ids)

    def graphs(self) -> dict[str, list[str]]:
        """Return the branches of each graph in the file."""
        found: dict[str, list[str]] = {}
        with self._file.reading() as db:
            for graph, branch in db.execute(SQL["graphs"]) if db else ():
                found.setdefault(graph, []).append(branch)
        return found

    def branches(self, graph: str) -> Mapping[str, Ref]:
        """Return the head of each branch of a graph."""
        with self._file.reading() as db:
            rows = db.execute(SQL["branches"], (graph,)).fetchall() if db else []
        return {branch: ref_after(self._read(_move, data)) for branch, data, _ in rows}

    def moves(self, graph: str, branch: str) -> Sequence[Move]:
        """Return the log of a branch, oldest first."""
        return self._rows("moves", _move, graph, branch)

    def calls(self, graph: str) -> Sequence[Call]:
        """Return the calls of all branches of a graph, oldest first."""
        return self._rows("calls", _call, graph)

    def links(self, graph: str) -> Sequence[Link]:
        """Return the links from a graph to others."""
        return self._rows("links", _link, graph)

    def feedback(self, graph: str) -> Sequence[Feedback]:
        """Return the thumbs of a graph, oldest first."""
        return self._rows("feedback", _feedback, graph)

    def write(self, batch: Batch) -> None:
        """Store `batch` in one transaction.

        Raises Conflict if its branch is not at the version before its moves.
        """
        with self._file.writing() as db:
            self._write(db, batch)

    def replace(self, graph: str, batch: Batch) -> None:
        """Remove a graph and store `batch`, in one transaction."""
        with self._file.writing() as db:
            drop_graph(db, graph)
            self._write(db, batch)
            collect(db, self._hasher)

    def delete(self, graph: str) -> FreedSpace:
        """Remove a graph with all its branches, and what no other graph refers to."""
        with self._file.writing() as db:
            drop_graph(db, graph)
            found = collect(db, self._hasher)
        self._file.shrink()
        return found

    def collect(self) -> FreedSpace:
        """Remove messages and chunks that no version, call or summary refers to."""
        with self._file.writing() as db:
            found = collect(db, self._hasher)
        self._file.shrink()
        return found

    def _write(self, db: sqlite3.Connection, batch: Batch) -> None:
        check_moves(batch.moves, lambda graph, branch: self._ref(db, graph, branch))
        self._check_whole(db, batch)
        db.executemany(SQL["add_blob"], batch.blobs.items())
        db.executemany(SQL["add_chunk"], batch.chunks.items())
        moves = ((one.graph, one.branch, one.number, _encode(one)) for one in batch.moves)
        db.executemany(SQL["add_move"], moves)
        for call in batch.calls:
            self._add_call(db, call)
        db.executemany(SQL["add_link"], ((one.graph, _encode(one)) for one in batch.links))
        db.executemany(SQL["add_feedback"], ((one.graph, _encode(one)) for one in batch.feedback))

    def _ref(self, db: sqlite3.Connection, graph: str, branch: str) -> Ref | None:
        row = db.execute(SQL["last_move"], (graph, branch)).fetchone()
        return None if row is None else ref_after(self._read(_move, row[0]))

    def _add_call(self, db: sqlite3.Connection, call: Call) -> None:
        data = _encode(call)
        row = db.execute(SQL["call"], (call.graph, call.id)).fetchone()
        if row is None:
            db.execute(SQL["add_call"], (call.graph, call.id, data))
        elif row[0] != data:
            raise Conflict(
                f"{self.path} has another call {call.id!r} of graph {call.graph!r}: another writer "
                "made it. Nothing was written. Save to another file, or give calls ids of your own."
            )

    def _check_whole(self, db: sqlite3.Connection, batch: Batch) -> None:
        """Refuse a batch that refers to what is neither in it nor in the file."""
        chunks, blobs = _referred(batch, self._hasher)
        for kind, names, own in (("chunk", chunks, batch.chunks), ("blob", blobs, batch.blobs)):
            for name in names:
                if name not in own and not db.execute(SQL[f"has_{kind}"], (name,)).fetchone():
                    raise Conflict(
                        f"{self.path} lacks {kind} {name.hex()}, which this change refers to: "
                        "another program removed a graph since this one was opened. Nothing was written. "
                        "Save to another file with save(PATH)."
                    )

    def _named(self, query: str, ids: Sequence[bytes]) -> dict[bytes, bytes]:
        with self._file.reading() as db:
            if db is None:
                return {}
            found = ((name, db.execute(SQL[query], (name,)).fetchone()) for name in ids)
            return {name: row[0] for name, row in found if row is not None}

    def _rows(self, query: str, read: _Decode[_Row], *key: str) -> Sequence[_Row]:
        with self._file.reading() as db:
            rows = db.execute(SQL[query], key).fetchall() if db else []
        return tuple(self._read(read, data) for (data,) in rows)

    def _read(self, read: _Decode[_Row], data: bytes) -> _Row:
        try:
            return read(data)
        except (msgspec.DecodeError, TypeError, UnicodeDecodeError) as problem:
            raise StoreDamaged(
                f"{self.path} is damaged: a row cannot be read ({problem}). Restore a copy of it."
            ) from problem


def _referred(batch: Batch, hasher: Hasher) -> tuple[set[bytes], set[bytes]]:
    """Return the chunks and blobs that a batch refers to."""
    chunks = {move.after for move in batch.moves} | {call.context for call in batch.calls}
    blobs = set(_answers(batch.calls))
    for data in batch.chunks.values():
        level, items = decode(data, hasher)
        (chunks if level else blobs).update(item.id for item in items if item.id is not None)
    return chunks, blobs


def _answers(calls: Iterable[Call]) -> Iterator[bytes]:
    for call in calls:
        yield from (name for name in (call.response, call.tools) if name is not None)
