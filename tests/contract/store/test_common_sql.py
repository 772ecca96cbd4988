"""The statements are written in words that SQLite and PostgreSQL share, so that guards exist once.

What only SQLite understands is listed here with the reason; a second engine brings its own text for
those. That a statement can be read by both does not prove that it means the same.
"""

import re
from importlib import resources

import pytest

from hermes.store.sql import queries
from hermes.store.sql.queries import load

pytestmark = pytest.mark.sqlite_only

DAMAGED = "reads damaged text as bytes"
LISTS = "takes a list as JSON"
CLASHES = "passes over a row that is there already"
ONLY_HERE = {
    "graph.blobs": LISTS,
    "graph.chunks": LISTS,
    "graph.counted_calls": DAMAGED,
    "graph.graphs": DAMAGED,
    "graph.listed_refs": DAMAGED,
    "graph.lost_branches": DAMAGED,
    "graph.people": DAMAGED,
    "memory.due_jobs": LISTS,
    "messages.lines": LISTS,
    "outbox.expire": LISTS,
    "outbox.has_expired": LISTS,
    "people.forget_writing": CLASHES,
    "people.name_body": CLASHES,
    "pruning.page": DAMAGED,
}
# What PostgreSQL does not know, or reads otherwise.
OWN_WORDS = {
    "a function of SQLite": r"\b(?:instr|total|iif|json_\w+|unhex|ifnull|group_concat)\(",
    "a match of SQLite": r"\b(?:GLOB|MATCH|REGEXP)\b",
    "INSERT OR, UPDATE OR": r"\b(?:INSERT|UPDATE) OR\b",
    "bytes of SQLite": r"\bBLOB\b|\bx'",
    "a join without ON, with ON": r"\bCROSS JOIN\b",
    "IS with a parameter": r"\bIS \?",
    "a truth value as a number": r"[*+-] \([^()]* (?:=|<>|IS NULL)[^()]*\)|\([^()]* = \?\d+\) \*",
    "max or min of two": r"\b(?:max|min)\([^()]*,",
    "DROP": r"^DROP\b",
}
TOPICS = sorted(
    one.name.removesuffix(".sql")
    for one in resources.files(queries).iterdir()
    if one.name.endswith(".sql")
)


def own_words(sql: str) -> list[str]:
    return [name for name, pattern in OWN_WORDS.items() if re.search(pattern, sql)]


@pytest.mark.parametrize("topic", TOPICS)
def test_statements_use_words_that_both_engines_know(topic: str) -> None:
    found = {
        f"{topic}.{name}": own_words(sql) for name, sql in load(topic).items() if own_words(sql)
    }

    assert set(found) == {name for name in ONLY_HERE if name.startswith(f"{topic}.")}, found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM lanes WHERE instr(key, '/') = 0",
        "UPDATE lanes SET turns = turns + (epoch = ?8) * ?9",
        "UPDATE inbox SET attempts = attempts + (state <> 'parked')",
        "UPDATE cron_jobs SET next_at = ?3 WHERE next_at IS ?2",
        "INSERT OR IGNORE INTO vectors_wanted VALUES (?1)",
        "SELECT max(a, ?2) FROM b",
    ],
)
def test_the_list_finds_the_words_of_sqlite(sql: str) -> None:
    assert own_words(sql)
