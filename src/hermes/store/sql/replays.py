"""Replays: the frozen calls that they begin from, their rows, and their branches in the graphs."""

import msgspec

from hermes.errors import GuardFailed
from hermes.graph.blob import Blob
from hermes.graph.growth import CallView, Tip, grow
from hermes.graph.persistence import collect
from hermes.graph.reader import ObjectReader
from hermes.graph.records import Call
from hermes.graph.rewind import ChangeAuthor, keep_state
from hermes.graph.sequence import Sequence
from hermes.graph.storage import Batch
from hermes.message.chat import ChatMessage
from hermes.message.reply import Usage
from hermes.ports.provider import ToolSpec
from hermes.ports.replays import (
    BRANCHES,
    FrozenCall,
    NewReplay,
    ReplayBranch,
    ReplayEnd,
    ReplayQuery,
    ReplayRecord,
    ReplayState,
)
from hermes.ports.spend import SpendEntry
from hermes.ports.transcripts import NewCall
from hermes.store.sql.engine import Engine
from hermes.store.sql.graph_names import GraphNames, call_view
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.graph_writer import GraphWriter
from hermes.store.sql.places import replay_place
from hermes.store.sql.queries import load
from hermes.store.sql.session_history import MAIN
from hermes.store.sql.spend import add_spent
from hermes.store.sql.tx import Row, Rows, Tx

_SQL = load("replays")
_GRAPH = load("graph")
# Sorts after every id: they begin with a lower-case letter.
_LAST = "~"
_decode = msgspec.json.Decoder(ChatMessage).decode
# Who makes the versions of a branch, as the graph names it.
_REPLAYER = "operator:replay"


class _Function(msgspec.Struct, frozen=True):
    """A tool as a call keeps it."""

    name: str
    description: str
    parameters: msgspec.Raw


class _Tool(msgspec.Struct, frozen=True):
    function: _Function


_decode_tools = msgspec.json.Decoder(tuple[_Tool, ...]).decode


class SqlReplays:
    """Implements `ports.replays.ReplayStore`.

    Where this process is `alone` with the store, what another one was running is cut off.
    """

    def __init__(self, engine: Engine, *, alone: bool) -> None:
        self._engine = engine
        self._alone = alone
        self._names = GraphNames(engine.sealer.hasher())

    async def frozen(self, graph: str, message_id: str) -> FrozenCall | None:
        """Return the first call of a message in its conversation; None if no model answered it."""
        return await self._engine.reads.look(lambda db: self._frozen(db, graph, message_id))

    def _frozen(self, db: Rows, name: str, message_id: str) -> FrozenCall | None:
        storage = SqlGraphStorage(db, name, sealer=self._engine.sealer)
        first = next(iter(storage.calls_of_message(MAIN, message_id)), None)
        if first is None:
            return None
        reader = ObjectReader(storage, self._names.hasher)
        context = Sequence.read(first.context, reader)
        seen = tuple(_decode(_data(blob)) for blob in context.blobs())
        is_run = len(seen) == first.lead + first.shared - first.start
        cut = first.lead if is_run else len(seen)
        return FrozenCall(
            id=first.id,
            graph=name,
            branch=first.branch,
            version=first.version,
            model=first.model,
            lead=seen[:cut],
            said=seen[cut:],
            start=first.start if is_run else first.shared,
            tools=_tools_of(storage, first),
            sampling=first.sampling,
        )

    async def begin(self, replay: NewReplay) -> None:
        """Write that a replay begins; raises `GuardFailed` if its conversation is gone."""
        gone = GuardFailed(f"the conversation {replay.graph!r} is gone")

        async def unit(tx: Tx) -> None:
            tx.must(
                _SQL["begin"],
                replay.id,
                replay.message_id,
                replay.person_id,
                replay.graph,
                replay.agent,
                replay.model,
                replay.label,
                replay.has_prompt,
                replay.is_live,
                self._engine.node,
                replay.at,
                error=gone,
            )

        await self._engine.writer.run("begin_replay", unit)

    async def step(
        self, replay_id: str, *, spent: tuple[SpendEntry, ...] = (), tools: int = 0
    ) -> None:
        """Write what calls took, into the ledger and the row, and that so many tools start now."""
        usage = Usage()
        for entry in spent:
            usage = usage.plus(entry.usage)

        async def unit(tx: Tx) -> None:
            tx.put(
                _SQL["step"],
                replay_id,
                len(spent),
                tools,
                usage.tokens_in,
                usage.tokens_out,
                usage.cost_usd,
                usage.unpriced,
            )
            add_spent(tx, spent)

        await self._engine.writer.run("step_replay", unit)

    async def end(self, replay: NewReplay, end: ReplayEnd) -> None:
        """Write the end and the branch in one unit."""
        over = GuardFailed(f"the replay {replay.id} has ended, or its conversation is gone")

        async def unit(tx: Tx) -> None:
            sealed = None
            if end.story is not None:
                sealed = await self._engine.sealer.seal(
                    tx, replay.person_id, end.story, place=replay_place(replay.id)
                )
            told = (end.state, end.reason, end.at, end.change, sealed)
            tx.must(_SQL["end"], replay.id, self._engine.node, *told, error=over)
            if end.branch is not None and end.branch.messages:
                await self._put_branch(tx, replay, end.branch, at=end.at)

        await self._engine.writer.run("end_replay", unit)

    async def _put_branch(
        self, tx: Tx, replay: NewReplay, branch: ReplayBranch, *, at: float
    ) -> None:
        for name, data in dict(
            self._names.tools(one.tools) for one in branch.calls if one.tools
        ).items():
            # Asked each time: pruning may have removed them.
            if await tx.row(_GRAPH["has_tools"], name) is None:
                self._engine.sealer.put_tools(tx, name, data)
        batch = await tx.look(lambda db: self._grown(db, replay, branch, at=at))
        writer = GraphWriter(
            tx,
            replay.graph,
            sealer=self._engine.sealer,
            numbers=self._engine.graph_numbers,
            person_id=replay.person_id,
        )
        await writer.put(batch)

    def _grown(self, db: Rows, replay: NewReplay, branch: ReplayBranch, *, at: float) -> Batch:
        """Return what to write: the messages before the replay as they were, and what it said."""
        frozen, name = branch.frozen, f"{BRANCHES}{replay.id}"
        storage = SqlGraphStorage(db, replay.graph, sealer=self._engine.sealer)
        reader = ObjectReader(storage, self._names.hasher)
        then = next(storage.log(frozen.branch, frozen.version))
        base = Sequence.read(then.after, reader).take(frozen.stop)
        who = ChangeAuthor(_REPLAYER, replay.message_id, at)
        batch = keep_state(Tip(replay.graph, frozen.branch, base, frozen.version), name, who)
        collect(base, batch, [])
        blobs = [self._names.new(message) for message in branch.messages]
        more = grow(
            Tip(replay.graph, name, base, 0),
            blobs,
            views=self._views(branch.calls, blobs, first=len(base)),
            actor=who.actor,
            reason=who.reason,
            at=at,
        ).batch
        return msgspec.structs.replace(
            more,
            blobs=batch.blobs | more.blobs,
            chunks=batch.chunks | more.chunks,
            moves=[*batch.moves, *more.moves],
        )

    def _views(
        self, calls: tuple[NewCall, ...], blobs: list[Blob], *, first: int
    ) -> list[CallView]:
        return [call_view(call, blobs, first=first, names=self._names) for call in calls]

    async def page(self, query: ReplayQuery) -> tuple[ReplayRecord, ...]:
        """Return replays, the newest first."""
        reads, bindings = self._engine.reads, (query.before or _LAST, query.limit)
        if query.message_id:
            rows = await reads.rows(_SQL["page_of_message"], *bindings, query.message_id)
        elif query.label:
            rows = await reads.rows(_SQL["page_of_label"], *bindings, query.label)
        else:
            rows = await reads.rows(_SQL["page"], *bindings)
        return tuple(map(self._record, rows))

    async def get(self, replay_id: str) -> ReplayRecord | None:
        """Return one replay."""
        row = await self._engine.reads.row(_SQL["get"], replay_id)
        return None if row is None else self._record(row)

    async def story(self, replay_id: str) -> bytes | None:
        """Return the report of a replay; None if it has none, or its person was erased."""
        reads = self._engine.reads
        row = await reads.row(_SQL["story"], replay_id)
        if row is None:
            return None
        place = replay_place(replay_id)
        return await self._engine.sealer.open(reads, row[0], row[1], place=place)

    def _record(self, row: Row) -> ReplayRecord:
        node, is_living = row[19:]
        is_here = node == self._engine.node or (bool(is_living) and not self._alone)
        state: ReplayState = "cut_off" if row[8] == "running" and not is_here else row[8]
        return ReplayRecord(
            id=row[0],
            message_id=row[1],
            person_id=row[2],
            agent=row[3],
            model=row[4],
            label=row[5],
            has_prompt=bool(row[6]),
            is_live=bool(row[7]),
            state=state,
            reason=row[9],
            started_at=row[10],
            ended_at=row[11],
            calls=row[12],
            tools_started=row[13],
            tokens_in=row[14],
            tokens_out=row[15],
            cost_usd=row[16],
            unpriced=row[17],
            change=row[18],
        )


def _data(blob: Blob) -> bytes:
    assert blob.data is not None, "the sequence reads a blob before it returns it"
    return blob.data


def _tools_of(storage: SqlGraphStorage, call: Call) -> tuple[ToolSpec, ...]:
    if call.tools is None:
        return ()
    (data,) = storage.get_blobs([call.tools]).values()
    return tuple(
        ToolSpec(one.function.name, one.function.description, one.function.parameters)
        for one in _decode_tools(data)
    )
