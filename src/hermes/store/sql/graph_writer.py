"""Writes one message graph inside a transaction of the store."""

from collections.abc import Sequence

import msgspec

from hermes.errors import BadRequest, Conflict
from hermes.graph.records import Call, Feedback, Link, Move, Ref
from hermes.graph.storage import Batch, check_moves
from hermes.store.sql.graph_rows import GraphRows
from hermes.store.sql.graph_storage import CallTokens, MoveLine
from hermes.store.sql.numbers import Numbers
from hermes.store.sql.places import NO_PLACE
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Tx

_SQL = load("graph")
_encode = msgspec.msgpack.Encoder().encode


class GraphWriter:
    """Writes the graph `name`; new messages belong to `person_id`.

    `number` is the graph's own, `calls` how many its branch has made: what is not known is read.
    """

    def __init__(
        self,
        tx: Tx,
        name: str,
        *,
        sealer: Sealer,
        numbers: Numbers,
        person_id: str = "",
        number: int | None = None,
        calls: int | None = None,
    ) -> None:
        self._tx = tx
        self._name = name
        self._sealer = sealer
        self._numbers = numbers
        self._person_id = person_id
        self._known = number
        self._calls = calls
        self._packed = GraphRows(name, sealer)

    async def number(self) -> int:
        """Return the number of this graph, creating it if it is new."""
        if self._known is None:
            row = await self._tx.row(_SQL["number"], self._name)
            self._known = self._create() if row is None else int(row[0])
        return self._known

    def _create(self) -> int:
        number = self._numbers.take()
        self._tx.put(_SQL["add_graph"], number, self._name)
        return number

    async def put(self, batch: Batch) -> None:
        """Write a batch; raises `Conflict` if its branch is not where its moves begin."""
        self._check_names(batch)
        graph = await self.number()
        first = await self._move(graph, batch)
        for name, data in batch.blobs.items():
            await self._sealer.put_blob(self._tx, self._person_id, data, graph=graph, name=name)
        for name, data in batch.chunks.items():
            self._tx.put(_SQL["add_chunk"], graph, name, data)
        for number, call in enumerate(batch.calls, start=first):
            await self._add_call(graph, number, call)
        for link in batch.links:
            number = int(await self._tx.one(_SQL["count_link"], graph)) - 1
            kept = msgspec.structs.replace(link, graph="")
            data = self._packed.pack("link", (number,), kept)
            self._tx.put(_SQL["add_link"], graph, number, data)
        for thumb in batch.feedback:
            await self._add_feedback(graph, thumb)

    def _check_names(self, batch: Batch) -> None:
        rows: tuple[Move | Call | Link | Feedback, ...] = (
            *batch.moves, *batch.calls, *batch.links, *batch.feedback
        )  # fmt: skip
        for row in rows:
            if row.graph != self._name:
                raise BadRequest(
                    f"this storage keeps the graph {self._name!r}, and the batch has a row of "
                    f"{row.graph!r}; open a storage for that one"
                )

    async def _move(self, graph: int, batch: Batch) -> int:
        """Move the ref and write its log; return the number of the batch's first call."""
        if not batch.moves:
            return await self._count_calls(graph, batch)
        first, last = batch.moves[0], batch.moves[-1]
        to = (graph, last.branch, last.after, last.length, last.number, len(batch.calls))
        known = self._calls if len(batch.moves) == 1 else None
        if known is None:
            calls = await self._move_ref(batch.moves, to)
        elif first.before is None:
            self._tx.must(_SQL["start_ref"], *to, error=self._moved(first))
            calls = len(batch.calls)
        else:
            bindings = (*to, first.number - 1, first.before, known)
            self._tx.must(_SQL["move_known_ref"], *bindings, error=self._moved(first))
            calls = known + len(batch.calls)
        for move in batch.moves:
            line = MoveLine(
                move.before, move.after, move.length, move.content, move.edit, move.origin, move.at
            )
            data = self._packed.pack("version", (move.branch, move.number), line)
            self._tx.put(_SQL["add_move"], graph, move.branch, move.number, data)
        return calls - len(batch.calls)

    async def _move_ref(self, moves: Sequence[Move], to: tuple[object, ...]) -> int:
        """Move a ref of which little is known; return how many calls its branch has made."""
        first = moves[0]
        if first.before is None:
            row = await self._tx.row(_SQL["start_ref"], *to)
        else:
            row = await self._tx.row(_SQL["move_ref"], *to, first.number - 1, first.before)
        if row is not None:
            # The ref has moved already.
            before = None if first.before is None else Ref(first.before, 0, first.number - 1)
            check_moves(moves, lambda _graph, _branch: before)
            return int(row[0])
        found = await self._tx.row(_SQL["ref"], to[0], first.branch)
        there = None if found is None else Ref(*found)
        check_moves(moves, lambda _graph, _branch: there)
        raise self._moved(first)

    def _moved(self, first: Move) -> Conflict:
        return Conflict(
            f"branch {first.branch!r} of graph {self._name!r} is not at version {first.number - 1}"
        )

    async def _count_calls(self, graph: int, batch: Batch) -> int:
        if not batch.calls:
            return 0
        made = len(batch.calls)
        row = await self._tx.row(_SQL["count_calls"], graph, batch.calls[0].branch, made)
        if row is None:
            raise BadRequest(
                f"graph {self._name!r} has no branch {batch.calls[0].branch!r} to keep a call of; "
                "save the branch first"
            )
        return int(row[0]) - made

    async def _add_call(self, graph: int, number: int, call: Call) -> None:
        tokens = None
        if call.token_ids is not None or call.logprobs is not None:
            secret = _encode(CallTokens(call.token_ids, call.logprobs))
            tokens = await self._sealer.seal(self._tx, self._person_id, secret, place=NO_PLACE)
        kept = msgspec.structs.replace(
            call, id="", graph="", branch="", token_ids=None, logprobs=None
        )
        beside = (call.branch, number, call.id, self._person_id, tokens)
        data = self._packed.pack("call", beside, kept)
        self._tx.put(
            _SQL["add_call"], graph, call.branch, number, call.id, data, self._person_id, tokens
        )

    async def _add_feedback(self, graph: int, thumb: Feedback) -> None:
        number = int(await self._tx.one(_SQL["count_feedback"], graph)) - 1
        reason = None
        if thumb.reason:
            content = thumb.reason.encode()
            reason = await self._sealer.seal(self._tx, self._person_id, content, place=NO_PLACE)
        kept = msgspec.structs.replace(thumb, graph="", reason="")
        data = self._packed.pack("thumb", (number, self._person_id, reason), kept)
        self._tx.put(_SQL["add_feedback"], graph, number, data, self._person_id, reason)
