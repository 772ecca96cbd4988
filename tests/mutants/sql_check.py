"""Which faults of queries SQLite can run: one that it cannot run is found by any call, and proves nothing.

A query that names a partial index with INDEXED BY cannot be run without the index's condition.
"""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.mutants.faults import Fault, changed
from tests.mutants.sql_guards import queries

_STORE = Path(__file__).parents[2] / "src/hermes/store"
# What the store adds to SQLite, and what newer versions of it have.
_FUNCTIONS = {"hermes_now": 0, "unhex": 1}


def runnable(faults: Iterable[Fault], source: str) -> Iterator[Fault]:
    """Yield the faults of the store's queries that are queries."""
    for fault in faults:
        if is_runnable(fault, source):
            yield fault


def is_runnable(fault: Fault, source: str) -> bool:
    """Return whether SQLite accepts the query of a fault."""
    name = fault.function.removeprefix("query ")
    text = changed(source, fault.edit)
    query = next(text[start:end] for one, start, end in queries(text) if one == name)
    numbers = [int(number) for number in re.findall(r"\?(\d+)", query)]
    try:
        _database().execute(f"EXPLAIN {query}", [None] * max(numbers, default=0))
    except sqlite3.Error:
        return False
    return True


@cache
def _database() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.executescript((_STORE / "sqlite/schema.sql").read_text(encoding="utf-8"))
    for name, arguments in _FUNCTIONS.items():
        db.create_function(name, arguments, lambda *_: 0.0)
    return db
