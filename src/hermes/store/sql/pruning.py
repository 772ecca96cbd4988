"""Finds and deletes old conversations whole: the graph, and everything that only it needs.

One graph is deleted in one transaction. If its messages left much in the journal, that is deleted
before, in bounded parts. After an interruption the graph is whole or gone, and the next round
continues.
"""

from collections.abc import Sequence

import structlog

from hermes.errors import HermesError
from hermes.message.session_key import depth_of
from hermes.ports.memory import EXTRACT
from hermes.ports.sessions import OldConversation
from hermes.store.sql.engine import Engine
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Reads, Row, Rows, Tx
from hermes.store.sql.unused_tools import collect_tools

_SQL = load("pruning")
_UPKEEP = load("upkeep")
_MESSAGES_AT_ONCE = 200
_OF_A_MESSAGE = (
    "drop_steps",
    "drop_events",
    "drop_outbox_more",
    "drop_outbox_parts",
    "drop_outbox",
    "drop_approvals",
    "drop_offers",
    "drop_pushes",
    "drop_message",
)
_OF_A_GRAPH = (
    "drop_refs",
    "drop_moves",
    "drop_chunks",
    "drop_calls",
    "drop_links",
    "drop_feedback",
    "drop_blobs",
    "drop_replays",
    "drop_graph",
)
_log = structlog.get_logger(__name__)


class SqlPruning:
    """Implements `ports.sessions.PruningStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def begin(self, at: float, *, every_s: float) -> bool:
        """Record that a round starts now; False if the last one was a short time ago."""
        if not await _is_due(self._engine.reads, at, every_s):
            return False

        async def unit(tx: Tx) -> bool:
            if not await _is_due(tx, at, every_s):
                return False
            tx.put(_SQL["set_begun_at"], str(at).encode())
            return True

        return await self._engine.writer.run("begin_prune", unit)

    async def old(
        self, *, before: float, after: int, limit: int
    ) -> tuple[int | None, tuple[OldConversation, ...]]:
        """Return conversations that ended and were last used before then, among the next graphs.

        With them the number to continue after; None at the end.
        """
        rows = await self._engine.reads.rows(_SQL["page"], after, limit)
        found = [await self._old(number, name, before) for number, name in rows]
        last = rows[-1][0] if len(rows) == limit else None
        return last, tuple(one for one in found if one is not None)

    async def _old(self, number: int, name: bytes, before: float) -> OldConversation | None:
        """Return a graph if it may be deleted; one that cannot be opened stays."""

        def look(db: Rows) -> OldConversation | None:
            text = name.decode()
            if not self._may_go(db, number, text, before=before):
                return None
            if depth_of(text) and self._is_linked(db, text):
                return None
            return OldConversation(graph=number, name=text, children=self._children(db, text))

        try:
            return await self._engine.reads.look(look)
        except (HermesError, UnicodeDecodeError, ValueError) as error:
            _log.warning("conversation_not_pruned", graph=number, problem=str(error))
            return None

    def _may_go(self, db: Rows, number: int, name: str, *, before: float) -> bool:
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

    def _used_at(self, db: Rows, number: int, name: str) -> float:
        storage = SqlGraphStorage(db, name, sealer=self._engine.sealer, number=number)
        branches = [str(row[0]) for row in db.rows(_SQL["branches"], (number,))]
        moves = [move for branch in branches for move in storage.last_moves(branch, 1)]
        return max((move.at or 0.0 for move in moves), default=0.0)

    def _children(self, db: Rows, name: str) -> tuple[str, ...]:
        """Return the graphs that answered tool calls of a graph."""
        storage = SqlGraphStorage(db, name, sealer=self._engine.sealer)
        return tuple(link.child for link in storage.links(name) if link.child is not None)

    def _is_linked(self, db: Rows, name: str) -> bool:
        """Return whether a subagent's conversation belongs to one that still exists."""
        parent = name.rpartition("#")[0].rpartition("/")[0]
        rows = db.rows(_SQL["graphs_of_lane"], (parent,))
        return any(name in self._children(db, str(row[1])) for row in rows)

    async def find(self, name: str, *, before: float) -> OldConversation | None:
        """Return a subagent's conversation that is deleted with its parent's."""

        def look(db: Rows) -> OldConversation | None:
            number = SqlGraphStorage(db, name, sealer=self._engine.sealer).number
            if number is None or not self._may_go(db, number, name, before=before):
                return None
            return OldConversation(graph=number, name=name, children=self._children(db, name))

        return await self._engine.reads.look(look)

    async def prune(self, old: OldConversation, *, before: float) -> bool:
        """Delete a conversation whole; False if it may no longer be deleted."""
        while True:
            done = await self._engine.writer.run(
                "prune_session", lambda tx: self._unit(tx, old, before)
            )
            if done is not None:
                self._engine.fresh.clear()
                return done

    async def _unit(self, tx: Tx, old: OldConversation, before: float) -> bool | None:
        """Delete what the messages left, at last the graph; None while there is more."""
        lane, _, epoch = old.name.rpartition("#")
        row = await tx.row(_SQL["page"], old.graph - 1, 1)
        if row is None or row[0] != old.graph or row[1] != old.name.encode():
            return False
        graph, name = old.graph, old.name
        if not await tx.look(lambda db: self._may_go(db, graph, name, before=before)):
            return False
        messages = await tx.rows(_SQL["messages"], lane, int(epoch), _MESSAGES_AT_ONCE)
        for message in messages:
            await drop_message(tx, message)
        if len(messages) == _MESSAGES_AT_ONCE:
            return None
        for query in _OF_A_GRAPH:
            tx.put(_SQL[query], graph)
        tx.put(_SQL["drop_soul"], lane, int(epoch))
        tx.put(_SQL["drop_jobs"], f"{EXTRACT}:{old.name}")
        self._drop_children(tx, old.children)
        return True

    async def collect(self) -> int:
        """Delete what only deleted conversations used; return how many sets of tools."""
        return await collect_tools(self._engine)

    def _drop_children(self, tx: Tx, children: Sequence[str]) -> None:
        for child in children:
            tx.put(_SQL["drop_child"], child.rpartition("#")[0])


async def _is_due(db: Reads, at: float, every_s: float) -> bool:
    row = await db.row(_SQL["begun_at"])
    # A time in the future comes from a clock that was wrong.
    return row is None or not 0 <= at - float(bytes(row[0])) < every_s


async def drop_message(tx: Tx, row: Row) -> None:
    """Delete a message and all that it left; the row has its id and its bodies."""
    message_id = row[0]
    bodies = [body for body in row[1:] if body is not None]
    for name in ("step_bodies", "outbox_bodies", "question_bodies", "offer_bodies"):
        bodies += [found[0] for found in await tx.rows(_UPKEEP[name], message_id)]
    for name in _OF_A_MESSAGE:
        tx.put(_UPKEEP[name], message_id)
    for body in bodies:
        tx.put(_UPKEEP["drop_body"], body)
