"""Finds and deletes old conversations whole: the graph, and everything that only it needs.

One graph is deleted in one transaction. If its messages left much in the journal, that is deleted
before, in bounded parts. After an interruption the graph is whole or gone, and the next round
continues.
"""

from collections.abc import Sequence
from typing import Any

import structlog

from hermes.errors import HermesError
from hermes.message.session_key import depth_of
from hermes.ports.memory import EXTRACT
from hermes.ports.sessions import OldConversation
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.graph_storage import SqliteGraphStorage
from hermes.store.sqlite.queries import load

_SQL = load("pruning")
_UPKEEP = load("upkeep")
_MESSAGES_AT_ONCE = 200
_OF_A_MESSAGE = ("drop_steps", "drop_events", "drop_outbox", "drop_approvals", "drop_message")
_OF_A_GRAPH = (
    "drop_refs",
    "drop_moves",
    "drop_chunks",
    "drop_calls",
    "drop_links",
    "drop_blobs",
    "drop_graph",
)
_log = structlog.get_logger(__name__)


class SqlitePruning:
    """Implements `ports.sessions.PruningStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def begin(self, at: float, *, every_s: float) -> bool:
        """Record that a round starts now; False if the last one was a short time ago."""
        if not _is_due(self._engine.reader, at, every_s):
            return False

        def unit(db: Database) -> bool:
            if not _is_due(db, at, every_s):
                return False
            db.execute(_SQL["set_begun_at"], (str(at).encode(),))
            return True

        return await self._engine.writer.run("begin_prune", unit)

    async def old(
        self, *, before: float, after: int, limit: int
    ) -> tuple[int | None, tuple[OldConversation, ...]]:
        """Return conversations that ended and were last used before then, among the next graphs.

        With them the number to continue after; None at the end.
        """
        rows = self._engine.reader.rows(_SQL["page"], (after, limit))
        found = (self._old(number, name, before) for number, name in rows)
        last = rows[-1][0] if len(rows) == limit else None
        return last, tuple(one for one in found if one is not None)

    def _old(self, number: int, name: bytes, before: float) -> OldConversation | None:
        """Return a graph if it may be deleted; one that cannot be opened stays."""
        reader = self._engine.reader
        try:
            text = name.decode()
            if not self._may_go(reader, number, text, before=before):
                return None
            if depth_of(text) and self._is_linked(text):
                return None
            return OldConversation(graph=number, name=text, children=self._children(text))
        except (HermesError, UnicodeDecodeError, ValueError) as error:
            _log.warning("conversation_not_pruned", graph=number, problem=str(error))
            return None

    def _may_go(self, db: Database, number: int, name: str, *, before: float) -> bool:
        lane, _, epoch = name.rpartition("#")
        now = db.row(_SQL["epoch"], (lane,))
        if now is not None and not depth_of(lane) and now[0] <= int(epoch):
            return False
        if now is not None and depth_of(lane) and now[1]:
            return False
        if db.one(_SQL["is_newest"], (number,)):
            return False
        # The cheap checks come first: most conversations are not old.
        if self._used_at(db, number, name) >= before:
            return False
        busy = (lane, int(epoch), f"{EXTRACT}:{name}")
        return not db.one(_SQL["is_busy"], busy) and not db.one(_SQL["has_open_replies"], busy[:2])

    def _used_at(self, db: Database, number: int, name: str) -> float:
        storage = SqliteGraphStorage(db, name, sealer=self._engine.sealer, number=number)
        branches = [str(row[0]) for row in db.rows(_SQL["branches"], (number,))]
        moves = [move for branch in branches for move in storage.last_moves(branch, 1)]
        return max((move.at or 0.0 for move in moves), default=0.0)

    def _children(self, name: str) -> tuple[str, ...]:
        """Return the graphs that answered tool calls of a graph."""
        storage = SqliteGraphStorage(self._engine.reader, name, sealer=self._engine.sealer)
        return tuple(link.child for link in storage.links(name) if link.child is not None)

    def _is_linked(self, name: str) -> bool:
        """Return whether a subagent's conversation belongs to one that still exists."""
        parent = name.rpartition("#")[0].rpartition("/")[0]
        rows = self._engine.reader.rows(_SQL["graphs_of_lane"], (parent,))
        return any(name in self._children(str(row[1])) for row in rows)

    async def find(self, name: str, *, before: float) -> OldConversation | None:
        """Return a subagent's conversation that is deleted with its parent's."""
        reader = self._engine.reader
        number = SqliteGraphStorage(reader, name, sealer=self._engine.sealer).number
        if number is None or not self._may_go(reader, number, name, before=before):
            return None
        return OldConversation(graph=number, name=name, children=self._children(name))

    async def prune(self, old: OldConversation, *, before: float) -> bool:
        """Delete a conversation whole; False if it may no longer be deleted."""
        while True:
            done = await self._engine.writer.run(
                "prune_session", lambda db: self._unit(db, old, before)
            )
            if done is not None:
                self._engine.fresh.clear()
                return done

    def _unit(self, db: Database, old: OldConversation, before: float) -> bool | None:
        """Delete what the messages left, at last the graph; None while there is more."""
        lane, _, epoch = old.name.rpartition("#")
        row = db.row(_SQL["page"], (old.graph - 1, 1))
        if row is None or row[0] != old.graph or row[1] != old.name.encode():
            return False
        if not self._may_go(db, old.graph, old.name, before=before):
            return False
        messages = db.rows(_SQL["messages"], (lane, int(epoch), _MESSAGES_AT_ONCE))
        for message in messages:
            _drop_message(db, message)
        if len(messages) == _MESSAGES_AT_ONCE:
            return None
        for name in _OF_A_GRAPH:
            db.execute(_SQL[name], (old.graph,))
        db.execute(_SQL["drop_soul"], (lane, int(epoch)))
        db.execute(_SQL["drop_jobs"], (f"{EXTRACT}:{old.name}",))
        self._drop_children(db, old.children)
        return True

    def _drop_children(self, db: Database, children: Sequence[str]) -> None:
        for child in children:
            db.execute(_SQL["drop_child"], (child.rpartition("#")[0],))


def _is_due(db: Database, at: float, every_s: float) -> bool:
    row = db.row(_SQL["begun_at"])
    # A time in the future comes from a clock that was wrong.
    return row is None or not 0 <= at - float(bytes(row[0])) < every_s


# Any: SQLite's values, in the order of the columns that `messages` names.
def _drop_message(db: Database, row: tuple[Any, ...]) -> None:
    message_id = row[0]
    bodies = [body for body in row[1:] if body is not None]
    for name in ("step_bodies", "outbox_bodies"):
        bodies += [found[0] for found in db.rows(_UPKEEP[name], (message_id,))]
    for name in _OF_A_MESSAGE:
        db.execute(_UPKEEP[name], (message_id,))
    for body in bodies:
        db.execute(_UPKEEP["drop_body"], (body,))
