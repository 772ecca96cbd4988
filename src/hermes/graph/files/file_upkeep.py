"""Removes graphs from a file, and messages and chunks that nothing refers to any more."""

import sqlite3

import msgspec

from hermes.graph.chunk import decode
from hermes.graph.files.graph_file import SQL
from hermes.graph.hasher import Hasher
from hermes.graph.records import Call, Move

_DROPS = ("drop_moves", "drop_calls", "drop_links", "drop_feedback")
_move = msgspec.msgpack.Decoder(Move).decode
_call = msgspec.msgpack.Decoder(Call).decode


class FreedSpace(msgspec.Struct, frozen=True):
    """What was removed because nothing referred to it; `bytes` are those of its content."""

    blobs: int = 0
    chunks: int = 0
    bytes: int = 0


def drop_graph(db: sqlite3.Connection, graph: str) -> None:
    """Remove the logs, calls, links and thumbs of a graph."""
    for query in _DROPS:
        db.execute(SQL[query], (graph,))


def collect(db: sqlite3.Connection, hasher: Hasher) -> FreedSpace:
    """Remove messages and chunks that no version, call or summary refers to."""
    roots, blobs = _roots(db)
    chunks = _reached(db, roots, blobs, hasher=hasher)
    gone_chunks = _unused(db, "chunk", chunks)
    gone_blobs = _unused(db, "blob", blobs)
    return FreedSpace(
        blobs=len(gone_blobs),
        chunks=len(gone_chunks),
        bytes=sum(gone_blobs.values()) + sum(gone_chunks.values()),
    )


def _roots(db: sqlite3.Connection) -> tuple[set[bytes], set[bytes]]:
    """Return the contexts and the messages that logs and calls name."""
    chunks: set[bytes] = set()
    blobs: set[bytes] = set()
    for (data,) in db.execute(SQL["all_moves"]):
        # What a summary replaces is the version before it.
        chunks.add(_move(data).after)
    for (data,) in db.execute(SQL["all_calls"]):
        call = _call(data)
        chunks.add(call.context)
        blobs.update(name for name in (call.response, call.tools) if name is not None)
    return chunks, blobs


def _reached(
    db: sqlite3.Connection, roots: set[bytes], blobs: set[bytes], *, hasher: Hasher
) -> set[bytes]:
    """Return all chunks under `roots`, and add their messages to `blobs`."""
    reached: set[bytes] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        row = None if name in reached else db.execute(SQL["chunk"], (name,)).fetchone()
        reached.add(name)
        if row is None:
            continue
        level, items = decode(row[0], hasher)
        names = [item.id for item in items if item.id is not None]
        waiting.extend(names) if level else blobs.update(names)
    return reached


def _unused(db: sqlite3.Connection, kind: str, used: set[bytes]) -> dict[bytes, int]:
    """Remove what is not used; return the size of each."""
    rows = db.execute(SQL[f"{kind}_names"]).fetchall()
    gone = {name: size for name, size in rows if name not in used}
    db.executemany(SQL[f"drop_{kind}"], ((name,) for name in gone))
    return gone
