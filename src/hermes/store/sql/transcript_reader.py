"""Reads conversations out of their message graphs, plainly: it follows names as it reads."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import structlog

from hermes.errors import StoreError
from hermes.graph.growth import Tip, no_tip, read_tip
from hermes.graph.hasher import Hasher
from hermes.graph.reader import ObjectReader
from hermes.message.chat import ChatMessage
from hermes.message.session_key import graph_name
from hermes.ports.transcripts import Compaction, VisibleHistory
from hermes.store.sql.compactions import SessionCompactions
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.recent_sessions import RecentSession, weigh, without_answers
from hermes.store.sql.seal import Sealer
from hermes.store.sql.session_history import MAIN, SessionHistory
from hermes.store.sql.tx import Rows

_log = structlog.get_logger(__name__)
_decode = msgspec.json.Decoder(ChatMessage).decode
# How many messages are read at once, from the newest on, until there are enough.
_AT_ONCE = 128


class SessionView(NamedTuple):
    """The messages of a session from `start` on, and the compaction before them."""

    storage: SqlGraphStorage
    tip: Tip
    held: Compaction | None
    start: int
    found: list[ChatMessage | None]


class TranscriptReader:
    """Reads the graphs of sessions over a connection."""

    def __init__(self, db: Rows, *, sealer: Sealer, hasher: Hasher) -> None:
        self.db = db
        self.sealer = sealer
        self._hasher = hasher

    def storage(self, name: str) -> SqlGraphStorage:
        """Return the graph of this name."""
        return SqlGraphStorage(self.db, name, sealer=self.sealer)

    def tip(self, name: str, storage: SqlGraphStorage | None = None) -> Tip:
        """Return the end of a graph's branch `main`."""
        kept = storage or self.storage(name)
        reader, ref = ObjectReader(kept, self._hasher), kept.ref(MAIN)
        if ref is None:
            return no_tip(name, MAIN, reader)
        return read_tip(name, MAIN, ref=ref, reader=reader)

    def past(self, lane: str, epoch: int) -> SessionHistory:
        """Return the past of a conversation."""
        name = graph_name(lane, epoch)
        storage = self.storage(name)
        return SessionHistory(
            storage,
            self.tip(name, storage),
            opened=lambda names: self.messages(storage, names, lane=lane),
        )

    def session(
        self,
        lane: str,
        *,
        epoch: int,
        head: int,
        limit: int,
        cut: int = 0,
        compaction: int | None = None,
    ) -> RecentSession:
        """Return a session with about `limit` bytes of its newest messages, without the last `cut`.

        What is older than a compaction is not read; `compaction` asks for one by its version.
        """
        view = self.view(lane, epoch=epoch, limit=limit, cut=cut, compaction=compaction)
        held, found = view.held, view.found
        readable = tuple(message for message in found if message is not None)
        is_cut = view.start > (0 if held is None else held.stop)
        messages = without_answers(readable) if is_cut else readable
        first = view.start + len(readable) - len(messages)
        said = VisibleHistory(first if len(readable) == len(found) else None, messages, held)
        return RecentSession(
            epoch=epoch,
            head=head,
            limit=limit,
            said=said,
            tip=view.tip,
            graph=view.storage.number,
            calls=view.storage.calls_made(MAIN),
        )

    def view(
        self,
        lane: str,
        *,
        epoch: int,
        limit: int,
        cut: int = 0,
        compaction: int | None = None,
    ) -> SessionView:
        """Return what models see of a session, with None for every message that is gone."""
        name = graph_name(lane, epoch)
        storage = self.storage(name)
        tip = self.tip(name, storage)
        stop = max(0, len(tip) - cut)
        held = SessionCompactions(storage, tip).newest(stop, version=compaction)
        base = 0 if held is None else held.stop
        start, found = self._newest(storage, tip, span=range(base, stop), limit=limit)
        return SessionView(storage, tip, held, start, found)

    def _newest(
        self, storage: SqlGraphStorage, tip: Tip, *, span: range, limit: int
    ) -> tuple[int, list[ChatMessage | None]]:
        """Return the newest messages of a span with about `limit` bytes, and where they begin."""
        start, found, weight = span.stop, list[ChatMessage | None](), 0
        while start > span.start and weight < limit:
            stop, start = start, max(span.start, start - _AT_ONCE)
            names = [blob.id for blob in tip.sequence.names(start, stop)]
            read = self.messages(storage, names, lane=tip.graph)
            found[:0] = read
            weight += weigh([one for one in read if one is not None])
        while weight > limit and len(found) > 1:
            weight -= 0 if found[0] is None else weigh([found[0]])
            found.pop(0)
            start += 1
        return start, found

    def first_message(self, name: str, *, lane: str) -> ChatMessage | None:
        """Return the first message of a graph."""
        storage = self.storage(name)
        first = next(iter(self.tip(name, storage).sequence.names(0, 1)))
        (message,) = self.messages(storage, [first.id], lane=lane)
        return message

    def messages(
        self, storage: SqlGraphStorage, names: Sequence[bytes], *, lane: str
    ) -> list[ChatMessage | None]:
        """Return messages; an unreadable one must not end the whole conversation."""
        try:
            found, erased = storage.open_blobs(names)
        except StoreError as error:
            _log.error("message_does_not_open", lane=lane, problem=str(error))
            return [
                self.messages(storage, [name], lane=lane)[0] if len(names) > 1 else None
                for name in names
            ]
        for name in names:
            if name not in found and name not in erased:
                _log.error("message_is_missing", lane=lane, name=name.hex())
        return [_decode(found[name]) if name in found else None for name in names]
