"""What was said in a session: the message graph behind the store port, with a cache.

A session's conversation, from one `/new` to the next, is one graph; every turn moves its branch
`main` once. This module reads what a turn sees and plans what its commit writes.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import msgspec
import structlog

from hermes.errors import NotFound, StoreError
from hermes.graph.growth import Growth, Tip, grow, no_tip, read_tip
from hermes.graph.reader import ObjectReader
from hermes.message.chat import ChatMessage
from hermes.message.event import MessageEvent
from hermes.message.session_key import graph_name
from hermes.ports.session_history import ConversationPage, PastExchange
from hermes.ports.transcripts import VisibleHistory
from hermes.ports.turns import Commit
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.conversation_pages import ConversationPages, Readers, read_place
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.graph_names import GraphNames, call_views
from hermes.store.sqlite.graph_storage import SqliteGraphStorage
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.recent_sessions import (
    RecentSession,
    RecentTranscripts,
    window_start,
    without_answers,
)
from hermes.store.sqlite.session_history import MAIN, SessionHistory

_SQL = load("transcripts")
_GRAPH = load("graph")
_log = structlog.get_logger(__name__)
_decode = msgspec.json.Decoder(ChatMessage).decode
_decode_event = msgspec.json.Decoder(MessageEvent).decode
_TITLE_CHARS = 80


class GraphWrite(NamedTuple):
    """What a commit wrote to a graph: its number, and the lane's head after it."""

    growth: Growth
    graph: int
    head: int


# Called for every turn that is on disk; it must cost next to nothing.
OnCommit = Callable[[Commit, GraphWrite], None]


def no_listener(_commit: Commit, _written: GraphWrite) -> None:
    """Do nothing for a turn that is on disk."""


class SqliteTranscripts:
    """Implements `ports.session_history.TranscriptStore`."""

    def __init__(self, engine: Engine, *, on_commit: OnCommit) -> None:
        self._on_commit = on_commit
        self._engine = engine
        self._recent = RecentTranscripts()
        self._names = GraphNames(engine.sealer.hasher())
        self._tools_kept: set[bytes] = set()

    async def history(
        self, lane: str, *, epoch: int, head: int, limit: int, cut: int = 0
    ) -> VisibleHistory:
        """Return what a turn sees of an epoch: at most `limit` of its newest messages."""
        if cut:
            return self._read(lane, epoch=epoch, head=head, limit=limit, cut=cut).said
        session = self._recent.get(lane, epoch=epoch, head=head)
        if session is None or session.limit != limit:
            session = self._read(lane, epoch=epoch, head=head, limit=limit)
            self._recent.put(lane, session)
        return session.said

    def _read(self, lane: str, *, epoch: int, head: int, limit: int, cut: int = 0) -> RecentSession:
        storage = self._storage(lane, epoch)
        tip = self._tip(storage, graph_name(lane, epoch))
        stop = max(0, len(tip) - cut)
        start = window_start(stop, limit)
        names = [blob.id for blob in tip.sequence.names(start, stop)]
        found = self._open(storage, names, lane=lane)
        readable = tuple(message for message in found if message is not None)
        messages = without_answers(readable) if start else readable
        first = start + len(readable) - len(messages)
        said = VisibleHistory(first if len(readable) == len(names) else None, messages)
        return RecentSession(
            epoch=epoch, head=head, limit=limit, said=said, tip=tip, graph=storage.number
        )

    def _storage(self, lane: str, epoch: int) -> SqliteGraphStorage:
        engine = self._engine
        return SqliteGraphStorage(engine.reader, graph_name(lane, epoch), sealer=engine.sealer)

    def _tip(self, storage: SqliteGraphStorage, name: str) -> Tip:
        reader, ref = ObjectReader(storage, self._names.hasher), storage.ref(MAIN)
        if ref is None:
            return no_tip(name, MAIN, reader)
        return read_tip(name, MAIN, ref=ref, reader=reader)

    def _open(
        self, storage: SqliteGraphStorage, names: Sequence[bytes], *, lane: str
    ) -> list[ChatMessage | None]:
        """Return messages; an unreadable one must not end the whole conversation."""
        try:
            found, erased = storage.open_blobs(names)
        except StoreError as error:
            _log.error("message_does_not_open", lane=lane, problem=str(error))
            return [
                self._open(storage, [name], lane=lane)[0] if len(names) > 1 else None
                for name in names
            ]
        for name in names:
            if name not in found and name not in erased:
                _log.error("message_is_missing", lane=lane, name=name.hex())
        return [_decode(found[name]) if name in found else None for name in names]

    async def exchanges(
        self, lane: str, *, epoch: int, since: int = 0, limit: int
    ) -> tuple[PastExchange, ...]:
        """Return the newest exchanges that begin at `since` or later, newest first."""
        storage = self._storage(lane, epoch)
        past = SessionHistory(storage, self._tip(storage, graph_name(lane, epoch)))
        found = past.exchanges(lambda names: self._open(storage, names, lane=lane), since=since)
        return tuple(islice(found, limit))

    async def states(self, lane: str, *, epoch: int) -> dict[str, int]:
        """Return the saved states, by name, with their lengths."""
        return self._past(lane, epoch).states()

    async def is_kept(self, lane: str, *, epoch: int) -> bool:
        """Return whether the current state is saved already, or is empty."""
        return self._past(lane, epoch).is_kept()

    def _past(self, lane: str, epoch: int) -> SessionHistory:
        storage = self._storage(lane, epoch)
        return SessionHistory(storage, self._tip(storage, graph_name(lane, epoch)))

    def rewind(self, db: Database, lane: str, commit: Commit, *, head: int) -> GraphWrite | None:
        """Change what was said before, inside the commit's transaction; advance the session.

        Returns None if its branch stays where it is.
        """
        rewind, name = commit.rewind, graph_name(lane, commit.epoch)
        assert rewind is not None
        past = self._past(lane, commit.epoch)
        storage = SqliteGraphStorage(
            db, name, sealer=self._engine.sealer, person_id=commit.person_id
        )
        if rewind.keeps:
            storage.put(past.kept(commit, rewind.keeps))
        if rewind.goes_to:
            growth = past.gone_to(commit, rewind.goes_to)
        elif rewind.cut or commit.entries:
            growth = self._replace(past, commit)
        else:
            return None
        self._put_tools(db, commit)
        storage.put(growth.batch)
        return GraphWrite(growth, storage.ensure(), head)

    def _replace(self, past: SessionHistory, commit: Commit) -> Growth:
        assert commit.rewind is not None
        blobs = [self._names.kept(entry.message) for entry in commit.entries]
        first = past.length - commit.rewind.cut
        views = call_views(commit, blobs, first=first, names=self._names)
        growth = past.replaced(commit, blobs, views)
        growth.batch.links.extend(commit.links)
        return growth

    def write(self, db: Database, lane: str, commit: Commit, *, head: int) -> GraphWrite:
        """Advance a session inside its commit; `head` is the lane's after the commit.

        The commit stores the entries' content: it has it already or knows whose it is.
        """
        session = self._recent.get(lane, epoch=commit.epoch, head=head - len(commit.entries))
        name = graph_name(lane, commit.epoch)
        if session is None:
            reading = self._storage(lane, commit.epoch)
            tip, known = self._tip(reading, name), reading.number
        else:
            tip, known = session.tip, session.graph
        storage = SqliteGraphStorage(
            db, name, sealer=self._engine.sealer, person_id=commit.person_id, number=known
        )
        growth = self._grow(tip, commit)
        self._put_tools(db, commit)
        storage.put(growth.batch)
        return GraphWrite(growth, storage.ensure(), head)

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

    def _put_tools(self, db: Database, commit: Commit) -> None:
        for call in commit.calls:
            if call.tools:
                name, data = self._names.tools(call.tools)
                if name not in self._tools_kept:
                    db.execute(_GRAPH["add_tools"], (name, data))

    def extend(self, lane: str, commit: Commit, written: GraphWrite) -> None:
        """Record that what `write` wrote is on disk."""
        self._tools_kept.update(call.tools for call in written.growth.batch.calls if call.tools)
        tip = written.growth.kept()
        if commit.rewind is not None:
            self._recent.drop(lane)
        entries = tuple(entry.message for entry in commit.entries)
        self._recent.extend(lane, entries, tip=tip, graph=written.graph, head=written.head)
        self._on_commit(commit, written)

    def forget(self) -> None:
        """Drop the whole cache; used when a person is erased."""
        self._recent.clear()

    def drop(self, lane: str) -> None:
        """Drop a session that has ended from the cache."""
        self._recent.drop(lane)

    async def sessions(self, *, platform: str | None, limit: int) -> tuple[dict[str, Any], ...]:
        """Return sessions, most recently used first."""
        reader = self._engine.reader
        if platform is None:
            rows = reader.rows(_SQL["sessions"], (limit,))
        else:
            rows = reader.rows(_SQL["sessions_of_platform"], (platform, limit))
        return tuple(
            {
                "lane": row[0],
                "platform": row[1],
                "chat_id": row[2],
                "person_id": row[3],
                "epoch": row[4],
                "entries": row[5],
                "used_at": row[6],
                "title": self._safe_title(row[0], row[3], event_body=row[7]),
            }
            for row in rows
        )

    def _safe_title(self, lane: str, person_id: str, *, event_body: int | None) -> str:
        """Return the title; a damaged session must not hide the others."""
        try:
            return self._title(lane, person_id, event_body=event_body)
        except (NotFound, StoreError) as error:
            _log.error("session_does_not_open", lane=lane, problem=str(error))
            return ""

    def _title(self, lane: str, person_id: str, *, event_body: int | None) -> str:
        """Return the first words of a session over all its epochs, from a graph or the inbox."""
        reader, sealer = self._engine.reader, self._engine.sealer
        found = reader.row(_SQL["first_graph"], (lane, person_id))
        if found is not None:
            storage, tip = self._graph(found[0])
            first = next(iter(tip.sequence.names(0, 1)))
            (message,) = self._open(storage, [first.id], lane=lane)
            return "" if message is None else message.text[:_TITLE_CHARS]
        content = None if event_body is None else sealer.get(reader, event_body)
        return "" if content is None else _decode_event(content).text[:_TITLE_CHARS]

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
        row = self._engine.reader.row(_SQL["epoch"], (lane,))
        if row is None:
            return ConversationPage()
        readers = Readers(self._graph, partial(self._open, lane=lane))
        pages = ConversationPages(
            self._engine, lane, readers=readers, epoch=row[0], person_id=person_id
        )
        return pages.page(limit, place)

    def _graph(self, name: str) -> tuple[SqliteGraphStorage, Tip]:
        engine = self._engine
        storage = SqliteGraphStorage(engine.reader, name, sealer=engine.sealer)
        return storage, self._tip(storage, name)
