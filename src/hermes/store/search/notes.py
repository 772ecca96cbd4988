"""Buffers what commits of this process added until the index takes it: saves reading it again.

Only a shortcut: what is missing here is found in the graphs by its version.
"""

import asyncio
from typing import NamedTuple

from hermes.graph.records import Move
from hermes.ports.turns import Commit
from hermes.store.search.graph_reader import Addition, IndexMessage, additions, spoken_of
from hermes.store.search.text_folds import MOST_BYTES
from hermes.store.sql.transcripts import GraphWrite

_MOST_TURNS = 4_000
_MOST_CHARS = 2_000_000
_MANY_TURNS = 1_000


class Note(NamedTuple):
    """A version of the graph of this number, with what was said in it."""

    graph: int
    move: Move
    spoken: tuple[IndexMessage, ...]

    def addition(self) -> Addition | None:
        """Return the note in the form that the graph reader would return."""
        return next(additions((self.move,), graph=self.graph), None)


class Notes:
    """Committed turns that are not in the index yet; bounded. `wanted` is set when there
    are many.
    """

    def __init__(self) -> None:
        self.wanted = asyncio.Event()
        self._turns: list[Note] = []
        self._chars = 0
        self._grown: set[int] = set()

    def __len__(self) -> int:
        return len(self._turns) + len(self._grown)

    def add(self, commit: Commit, written: GraphWrite) -> None:
        """Add a turn that is on disk; cheap."""
        self._add(commit, written)
        if len(self) == _MANY_TURNS:
            self.wanted.set()

    def _add(self, commit: Commit, written: GraphWrite) -> None:
        spoken: list[IndexMessage] = []
        for entry in commit.entries:
            one = spoken_of(commit.person_id, entry.message)
            if one is None:
                continue
            if entry.ordinal is not None and one.role == "user":
                # It joined the turn and may belong to another person: the database knows.
                self._grown.add(written.graph)
                return
            self._chars += len(one.text)
            spoken.append(one if len(one.text) <= MOST_BYTES else _short(one))
        if len(self._turns) < _MOST_TURNS and self._chars < _MOST_CHARS:
            self._turns.append(Note(written.graph, written.growth.batch.moves[-1], tuple(spoken)))
        else:
            self._grown.add(written.graph)

    def take(self) -> tuple[list[Note], set[int]]:
        """Return and clear the notes, with the graphs that had too many to keep."""
        turns, grown = self._turns, self._grown
        self._turns, self._grown, self._chars = [], set(), 0
        return turns, grown


def _short(spoken: IndexMessage) -> IndexMessage:
    return spoken._replace(text=spoken.text[:MOST_BYTES])
