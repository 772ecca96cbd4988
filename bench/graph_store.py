"""The numbers of the group `graph` that include the store: calls that are recorded and saved into a
real database file, bodies sealed and commits synced as shipped, and a conversation read from it.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from time import process_time

import msgspec

from bench.calm import Rounds
from bench.conversations import MODEL, NAME, SAMPLING, USAGE, answer, grown, open_grown, question
from bench.graph_costs import expect, timed_rounds
from hermes.graph import MessageGraph
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer, make_store_keys
from hermes.store.sqlite.connection import Database, Synchronous, open_database
from hermes.store.sqlite.tx import SqliteTx
from tests.stores.graph_files import WritableGraph

SYNCHRONOUS: Synchronous = "FULL"
# As group commit does under load. A round is long enough for the write-ahead log to be taken back
# into the file, which happens at every second or third commit.
SAVES, TRANSACTIONS = 50, 5
RECORD_ROUNDS = 15
_PERSON = "p_bench"
_PEOPLE = load("people")
_SCHEMA = resources.files("hermes.store.sqlite").joinpath("schema.sql").read_text("utf-8")


class Opened(msgspec.Struct, frozen=True, eq=False):
    """One connection to the file, and the storage of a conversation over it."""

    db: Database
    storage: SqlGraphStorage


@contextmanager
def fresh_file() -> Iterator[Opened]:
    """Yield a database without a conversation; its file is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path, sealer = Path(folder, "graph.db"), Sealer(make_store_keys())
        with closing(open_database(path, synchronous=SYNCHRONOUS, vfs=None)) as db:
            db.execute(_SCHEMA)
            db.execute(_PEOPLE["set_digest_key"], (sealer.make_digest_key(),))
            sealer.make_key(SqliteTx(db), _PERSON)
            # As a unit of the gateway keeps what a turn said: the transaction around it undoes it.
            storage = WritableGraph(db, NAME, sealer=sealer, person_id=_PERSON, in_unit=True)
            yield Opened(db, storage)


def grown_in(opened: Opened, size: int) -> MessageGraph:
    """Return the conversation of `size` messages, kept in the file."""
    opened.db.execute("BEGIN IMMEDIATE")
    graph = grown(size, opened.storage)
    opened.db.execute("COMMIT")
    # In one transaction it makes a log that no gateway has; what is measured starts without it.
    opened.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return graph


def call_record_us(opened: Opened, graph: MessageGraph) -> Rounds[float]:
    """Time `record_call()` and `save()`, call after call, with their share of the commit."""
    return _timed_us(opened, graph, lambda number: _record_call(graph, f"call {number}"))


def turn_record_us(opened: Opened, graph: MessageGraph) -> Rounds[float]:
    """Time the same with a question before each call that is saved together with it."""

    def record_turn(number: int) -> None:
        graph.append(question(f"question {number}"))
        _record_call(graph, f"turn {number}")

    return _timed_us(opened, graph, record_turn)


def _timed_us(opened: Opened, graph: MessageGraph, record: Callable[[int], None]) -> Rounds[float]:
    before, calls = len(graph.calls()), SAVES * TRANSACTIONS

    def one_round(number: int) -> float:
        began = process_time()
        for start in range(number * calls, (number + 1) * calls, SAVES):
            opened.db.execute("BEGIN IMMEDIATE")
            for call in range(start, start + SAVES):
                record(call)
            opened.db.execute("COMMIT")
        return (process_time() - began) * 1e6 / calls

    timed = timed_rounds(one_round, RECORD_ROUNDS)
    expected = before + (RECORD_ROUNDS + 1) * calls
    expect("calls in the file", len(open_grown(opened.storage).calls()), expected)
    return timed


def _record_call(graph: MessageGraph, name: str) -> None:
    graph.record_call(answer(name), model=MODEL, sampling=SAMPLING, usage=USAGE)
    graph.save()
