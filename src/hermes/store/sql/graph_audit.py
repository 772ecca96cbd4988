"""Finds faults in the graphs' rows that a graph itself cannot detect.

A graph shows what its rows say. Missing rows are found only here: from the counts beside the rows,
and from rows that nothing refers to. Nothing is changed.
"""

from collections.abc import Iterator

from hermes.errors import HermesError
from hermes.graph import Problem
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sqlite.connection import Database

_SQL = load("graph")
_KINDS = ("branches", "versions", "calls", "links", "chunks", "messages", "thumbs")


def check_rows(db: Database, name: str, *, sealer: Sealer) -> list[Problem]:
    """Return what is wrong with the rows of one graph."""
    storage = SqlGraphStorage(db, name, sealer=sealer)
    try:
        number = storage.number
        if number is None:
            return [Problem("missing", "graph", "the store has no graph of this name")]
        return [
            *_lost_branches(db, number),
            *_lost_calls(db, number),
            *_lost_links(db, number),
            *_lost_feedback(db, number),
            *_links_to_nowhere(db, storage, name),
        ]
    except HermesError as problem:
        return [Problem("damaged", "rows", str(problem))]


def find_orphans(db: Database) -> list[Problem]:
    """Return rows of graphs that no longer exist."""
    found = []
    for number, *counts in db.rows(_SQL["orphans"]):
        told = ", ".join(f"{count} {kind}" for count, kind in zip(counts, _KINDS, strict=True))
        text = f"the graph of this number no longer exists, but {told} of it"
        found.append(Problem("missing", f"graph number {number}", text))
    return found


def _lost_branches(db: Database, number: int) -> Iterator[Problem]:
    for (branch,) in db.rows(_SQL["lost_branches"], (number,)):
        yield Problem(
            "missing",
            f"branch {_text(branch)}",
            "its head is missing, although its versions or calls exist",
        )


def _lost_calls(db: Database, number: int) -> Iterator[Problem]:
    for branch, made, there in db.rows(_SQL["counted_calls"], (number,)):
        if made != there:
            text = f"it made {made} calls, but {there} are stored"
            yield Problem("missing", f"branch {_text(branch)}", text)


def _lost_links(db: Database, number: int) -> Iterator[Problem]:
    for made, there in db.rows(_SQL["counted_links"], (number,)):
        if made != there:
            yield Problem("missing", "links", f"there were {made}, but {there} are stored")


def _lost_feedback(db: Database, number: int) -> Iterator[Problem]:
    for given, there in db.rows(_SQL["counted_feedback"], (number,)):
        if given != there:
            yield Problem("missing", "thumbs", f"there were {given}, but {there} are stored")


def _links_to_nowhere(db: Database, storage: SqlGraphStorage, name: str) -> Iterator[Problem]:
    for link in storage.links(name):
        if link.child is None:
            continue
        session = link.child.rpartition("#")[0]
        # A subagent that was stopped before it said anything has a session and no graph.
        if not db.one(_SQL["is_known"], (link.child, session)):
            yield Problem(
                "missing", f"the link of {link.tool_call_id}", f"there is no graph {link.child!r}"
            )


def _text(kept: bytes) -> str:
    return kept.decode(errors="replace")
