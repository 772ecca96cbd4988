"""What was said in a session: the message graph behind the store port, with a cache.

A session's conversation, from one `/new` to the next, is one graph; every turn moves its branch
`main` once. This module reads what a turn sees and plans what its commit writes.
"""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import structlog

from hermes.errors import NotFound, StoreError
from hermes.graph import Feedback, Rating
from hermes.graph.growth import Growth, Tip, grow
from hermes.graph.rewind import ChangeAuthor
from hermes.graph.storage import Batch
from hermes.message.session_key import escape, graph_name
from hermes.ports.compaction import LongConversation, OlderPart
from hermes.ports.memory import Job
from hermes.ports.session_history import ALL_BYTES, ConversationPage, PastExchange
from hermes.ports.transcripts import Compaction, VisibleHistory
from hermes.ports.turns import Commit
from hermes.store.sql.compactions import SessionCompactions
from hermes.store.sql.conversation_pages import ConversationPages, read_place
from hermes.store.sql.engine import Engine
from hermes.store.sql.graph_names import GraphNames, call_views
from hermes.store.sql.graph_writer import GraphWriter
from hermes.store.sql.queries import load
from hermes.store.sql.recent_sessions import RecentSession, RecentTranscripts
from hermes.store.sql.session_history import MAIN, SessionHistory
from hermes.store.sql.transcript_reader import SessionView, TranscriptReader
from hermes.store.sql.tx import Row, Rows, Tx

_SQL = load("transcripts")
_INBOX = load("inbox")
_GRAPH = load("graph")
_log = structlog.get_logger(__name__)
_TITLE_CHARS = 80


class GraphWrite(NamedTuple):
    """What a commit wrote to a graph: its number, its calls, and the lane's head after it."""

    growth: Growth
    graph: int
    calls: int | None
    head: int


# Called for every turn that is on disk; it must cost next to nothing.
OnCommit = Callable[[Commit, GraphWrite], None]


def no_listener(_commit: Commit, _written: GraphWrite) -> None:
    """Do nothing for a turn that is on disk."""


class SqlTranscripts:
    """Implements `ports.session_history.TranscriptStore`."""

    def __init__(self, engine: Engine, *, on_commit: OnCommit) -> None:
        self._on_commit = on_commit
        self._engine = engine
        self._recent = RecentTranscripts()
        engine.feed.on("erasure", lambda _key: self._recent.clear())
        self._names = GraphNames(engine.sealer.hasher())

    def _reader(self, db: Rows) -> TranscriptReader:
        return TranscriptReader(db, sealer=self._engine.sealer, hasher=self._names.hasher)

    async def history(
        self,
        lane: str,
        *,
        epoch: int,
        head: int,
        limit: int = ALL_BYTES,
        cut: int = 0,
        compaction: int | None = None,
    ) -> VisibleHistory:
        """Return what a turn sees of an epoch: about `limit` bytes of its newest messages."""
        is_usual = not cut and compaction is None
        session = self._recent.get(lane, epoch=epoch, head=head) if is_usual else None
        if session is not None and session.limit == limit:
            return session.said
        stamp = self._recent.stamp

        def read(db: Rows) -> RecentSession:
            return self._reader(db).session(
                lane, epoch=epoch, head=head, limit=limit, cut=cut, compaction=compaction
            )

        session = await self._engine.reads.look(read)
        if is_usual and stamp == self._recent.stamp:
            self._recent.put(lane, session)
        return session.said

    async def older(
        self, job: Job, cut: Callable[[LongConversation], int], *, shared_from: int, limit: int
    ) -> OlderPart | None:
        """Return the part of a conversation that `cut` says is older, if there is one."""

        def read(db: Rows) -> OlderPart | None:
            view = self._reader(db).view(job.lane, epoch=job.epoch, limit=limit)
            return _older(view, cut, shared_from=shared_from)

        return await self._engine.reads.look(read)

    async def exchanges(
        self, lane: str, *, epoch: int, since: int = 0, limit: int
    ) -> tuple[PastExchange, ...]:
        """Return the newest exchanges that begin at `since` or later, newest first."""

        def read(db: Rows) -> tuple[PastExchange, ...]:
            past = self._reader(db).past(lane, epoch)
            return tuple(islice(past.exchanges(since=since), limit))

        return await self._engine.reads.look(read)

    async def states(self, lane: str, *, epoch: int) -> dict[str, int]:
        """Return the saved states, by name, with their lengths."""
        return await self._engine.reads.look(lambda db: self._reader(db).past(lane, epoch).states())

    async def is_kept(self, lane: str, *, epoch: int) -> bool:
        """Return whether the current state is saved already, or is empty."""
        return await self._engine.reads.look(
            lambda db: self._reader(db).past(lane, epoch).is_kept()
        )

    async def rewind(self, tx: Tx, lane: str, commit: Commit, *, head: int) -> GraphWrite | None:
        """Change what was said before, inside the commit's transaction; advance the session.

        Returns None if its branch stays where it is.
        """
        rewind = commit.rewind
        assert rewind is not None
        await self._compact(tx, lane, commit)
        writer = self._writer(tx, lane, commit)
        past = await tx.look(lambda db: self._reader(db).past(lane, commit.epoch))
        if rewind.keeps:
            await writer.put(past.kept(commit, rewind.keeps))
        if rewind.goes_to:
            goes_to = rewind.goes_to
            growth = await tx.look(lambda _db: past.gone_to(commit, goes_to))
        elif rewind.cut or commit.entries:
            growth = await tx.look(lambda _db: self._replace(past, commit))
        else:
            return None
        await self._put_tools(tx, commit)
        await writer.put(growth.batch)
        return GraphWrite(growth, await writer.number(), None, head)

    def _replace(self, past: SessionHistory, commit: Commit) -> Growth:
        assert commit.rewind is not None
        blobs = [self._names.kept(entry.message) for entry in commit.entries]
        first = past.length - commit.rewind.cut
        views = call_views(commit, blobs, first=first, names=self._names)
        growth = past.replaced(commit, blobs, views)
        growth.batch.links.extend(commit.links)
        return growth

    def _writer(
        self, tx: Tx, lane: str, commit: Commit, *, known: RecentSession | None = None
    ) -> GraphWriter:
        return GraphWriter(
            tx,
            graph_name(lane, commit.epoch),
            sealer=self._engine.sealer,
            numbers=self._engine.graph_numbers,
            person_id=commit.person_id,
            number=None if known is None else known.graph,
            calls=None if known is None else known.calls,
        )

    async def write(self, tx: Tx, lane: str, commit: Commit, *, head: int) -> GraphWrite:
        """Advance a session inside its commit; `head` is the lane's after the commit.

        The commit stores the entries' content: it has it already or knows whose it is.
        """
        await self._compact(tx, lane, commit)
        known = self._recent.get(lane, epoch=commit.epoch, head=head - len(commit.entries))
        if known is None:
            tip = await tx.look(lambda db: self._reader(db).tip(graph_name(lane, commit.epoch)))
        else:
            tip = known.tip
        writer = self._writer(tx, lane, commit, known=known)
        growth = await tx.look(lambda _db: self._grow(tip, commit))
        await self._put_tools(tx, commit)
        await writer.put(growth.batch)
        calls = None
        if known is not None and known.calls is not None:
            calls = known.calls + len(growth.batch.calls)
        return GraphWrite(growth, await writer.number(), calls, head)

    async def _compact(self, tx: Tx, lane: str, commit: Commit) -> None:
        """Write what turns see from now on in the place of older messages, if there is news."""
        if commit.compaction is not None:
            who = ChangeAuthor(commit.person_id, commit.message_id, commit.at)
            await self.compact(tx, lane, commit.epoch, made=commit.compaction, who=who)

    async def compact(
        self,
        tx: Tx,
        lane: str,
        epoch: int,
        *,
        made: Compaction,
        who: ChangeAuthor,
        source: bytes | None = None,
    ) -> None:
        """Write a compaction; raises `Conflict` if its messages are no longer there."""
        name = graph_name(lane, epoch)

        def plan(db: Rows) -> Batch:
            reader = self._reader(db)
            storage = reader.storage(name)
            past = SessionCompactions(storage, reader.tip(name, storage))
            return past.batch(made, names=self._names, who=who, source=source)

        batch = await tx.look(plan)
        writer = GraphWriter(
            tx,
            name,
            sealer=self._engine.sealer,
            numbers=self._engine.graph_numbers,
            person_id=who.actor,
        )
        await writer.put(batch)

    def _grow(self, tip: Tip, commit: Commit) -> Growth:
        blobs = [self._names.kept(entry.message) for entry in commit.entries]
        growth = grow(
            tip,
            blobs,
            views=call_views(commit, blobs, first=len(tip), names=self._names),
            actor=commit.person_id,
            reason=commit.message_id,
            at=commit.at,
        )
        growth.batch.links.extend(commit.links)
        return growth

    async def _put_tools(self, tx: Tx, commit: Commit) -> None:
        # Asked each time: pruning may have removed what an earlier turn stored.
        for name, data in dict(
            self._names.tools(one.tools) for one in commit.calls if one.tools
        ).items():
            if await tx.row(_GRAPH["has_tools"], name) is None:
                self._engine.sealer.put_tools(tx, name, data)

    def extend(self, lane: str, commit: Commit, written: GraphWrite) -> None:
        """Record that what `write` wrote is on disk."""
        tip = written.growth.kept()
        if commit.rewind is not None or commit.compaction is not None:
            self._recent.drop(lane)
        entries = tuple(entry.message for entry in commit.entries)
        self._recent.extend(
            lane, entries, tip=tip, written=(written.graph, written.calls, written.head)
        )
        self._on_commit(commit, written)

    async def rate_call(
        self,
        call_id: str,
        rating: Rating,
        *,
        actor: str,
        reason: str,
        at: float,
        instead_of: Rating | None = None,
    ) -> bool:
        """Keep a thumb for what a call wrote; False if no call of this id wrote anything.

        With `instead_of` it is kept only if that is the actor's thumb for it now.
        """
        # Looked for before the transaction: calls are found by their graph, not by their id.
        row = await self._engine.reads.row(_GRAPH["place_of_call"], call_id)
        if row is None:
            return False
        name, person_id = str(row[0]), str(row[1])

        async def unit(tx: Tx) -> bool:
            if not await tx.look(lambda db: self._wrote(db, name, call_id)):
                return False
            now = await tx.look(lambda db: self._thumb(db, name, (call_id, actor)))
            if (now == rating and not reason) or instead_of not in (None, now):
                return True
            writer = GraphWriter(
                tx,
                name,
                sealer=self._engine.sealer,
                numbers=self._engine.graph_numbers,
                person_id=person_id,
            )
            thumb = Feedback(name, call_id, rating, actor=actor, reason=reason, at=at)
            await writer.put(Batch(feedback=[thumb]))
            return True

        return await self._engine.writer.run("rate_call", unit)

    def _wrote(self, db: Rows, name: str, call_id: str) -> bool:
        calls = self._reader(db).storage(name).calls(name)
        return any(call.id == call_id and call.response is not None for call in calls)

    def _thumb(self, db: Rows, name: str, whose: tuple[str, str]) -> Rating:
        """Return somebody's thumb for a call, the latest one."""
        given = self._reader(db).storage(name).feedback(name)
        return next(
            (one.rating for one in reversed(given) if (one.call, one.actor) == whose), "none"
        )

    def drop(self, lane: str) -> None:
        """Drop a session that has ended from the cache."""
        self._recent.drop(lane)

    async def sessions(self, *, platform: str | None, limit: int) -> tuple[dict[str, Any], ...]:
        """Return sessions, most recently used first."""
        reads = self._engine.reads
        if platform is None:
            rows = await reads.rows(_SQL["sessions"], limit)
        else:
            rows = await reads.rows(_SQL["sessions_of_platform"], platform, limit)
        return await self._listed(rows)

    async def sessions_of(
        self, platform: str, user_id: str, *, person_id: str, limit: int
    ) -> tuple[dict[str, Any], ...]:
        """Return the sessions that one user of a platform has, most recently used first."""
        end = f":{escape(user_id)}"
        rows = await self._engine.reads.rows(
            _SQL["sessions_of_user"], person_id, platform, end, user_id, limit
        )
        return await self._listed(rows)

    async def _listed(self, rows: Sequence[Row]) -> tuple[dict[str, Any], ...]:
        return tuple(
            [
                {
                    "lane": row[0],
                    "platform": row[1],
                    "chat_id": row[2],
                    "person_id": row[3],
                    "epoch": row[4],
                    "entries": row[5],
                    "used_at": row[6],
                    "title": await self._safe_title(row[0], row[3], first=row[7]),
                    "is_temporary": bool(row[8]),
                    "is_waiting": bool(row[9]),
                }
                for row in rows
            ]
        )

    async def _safe_title(self, lane: str, person_id: str, *, first: str | None) -> str:
        """Return the title; a damaged session must not hide the others."""
        try:
            return await self._title(lane, person_id, first=first)
        except (NotFound, StoreError) as error:
            _log.error("session_does_not_open", lane=lane, problem=str(error))
            return ""

    async def _title(self, lane: str, person_id: str, *, first: str | None) -> str:
        """Return the first words of a session over all its epochs, from a graph or the inbox."""
        reads = self._engine.reads
        found = await reads.row(_SQL["first_graph"], lane, person_id)
        if found is not None:
            name = str(found[0])
            message = await reads.look(lambda db: self._reader(db).first_message(name, lane=lane))
            return "" if message is None else message.text[:_TITLE_CHARS]
        row = None if first is None else await reads.row(_INBOX["get"], first)
        event = None if row is None else (await self._engine.message(row)).event
        return "" if event is None else event.text[:_TITLE_CHARS]

    async def conversation(
        self,
        lane: str,
        *,
        limit: int,
        person_id: str | None = None,
        before: str | None = None,
    ) -> ConversationPage:
        """Return the newest messages of a session over all its epochs, oldest first."""
        place = read_place(before)
        row = await self._engine.reads.row(_SQL["epoch"], lane)
        if row is None:
            return ConversationPage()
        epoch = int(row[0])

        def read(db: Rows) -> ConversationPage:
            pages = ConversationPages(self._reader(db), lane, epoch=epoch, person_id=person_id)
            return pages.page(limit, place)

        page = await self._engine.reads.look(read)
        return msgspec.structs.replace(page, is_temporary=bool(row[1]))


def _older(
    view: SessionView, cut: Callable[[LongConversation], int], *, shared_from: int
) -> OlderPart | None:
    """Return the older part of a session; None if nothing is to be summed up."""
    held, last = view.held, next(view.storage.calls_back(MAIN), None)
    if held is not None and held.start < shared_from:
        held = None
    # Messages of erased persons are missing; the others keep their places.
    placed = [
        (index, message)
        for index, message in enumerate(view.found, start=view.start)
        if message is not None and index >= shared_from
    ]
    messages = tuple(message for _, message in placed)
    found = LongConversation(
        summary=None if held is None else held.message,
        messages=messages,
        model="" if last is None else last.model,
    )
    count = cut(found)
    if not 0 < count < len(placed):
        return None
    stop = placed[count][0]
    return OlderPart(
        start=shared_from,
        stop=stop,
        source=view.tip.sequence.take(stop).root,
        conversation=found,
        messages=messages[:count],
    )
