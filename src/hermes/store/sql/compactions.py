"""Compactions of stored sessions: what models see in the place of older messages.

A compaction is a version of the branch `COMPACTED` of the session's graph; the branch `main` stays
complete. One holds as long as the session still begins with the messages that it replaces, so going
back needs no bookkeeping here.
"""

from collections.abc import Iterator

import msgspec

from hermes.errors import Conflict
from hermes.graph.growth import Tip, no_tip, read_tip
from hermes.graph.records import Call, Move
from hermes.graph.rewind import ChangeAuthor, marks_from
from hermes.graph.storage import Batch
from hermes.graph.stored_squish import StoredSummary, squish_start, still_holds, stored_summaries
from hermes.message.chat import ChatMessage
from hermes.ports.compaction import COMPACTED
from hermes.ports.session_history import NO_COMPACTION
from hermes.ports.transcripts import Compaction
from hermes.store.sql.graph_names import GraphNames
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.session_history import MAIN
from hermes.store.sql.tx import Rows, Tx

_SQL = load("compactions")
_decode = msgspec.json.Decoder(ChatMessage).decode
# A conversation that went far back has this many compactions looked at, the newest first.
_MOST_LOOKS = 200


class SessionCompactions:
    """The compactions of one graph, whose branch `main` ends at `tip`."""

    def __init__(self, storage: SqlGraphStorage, tip: Tip) -> None:
        self._storage = storage
        self._tip = tip

    def newest(self, length: int, *, version: int | None = None) -> Compaction | None:
        """Return the newest compaction that holds for the first `length` messages, if any.

        With a `version` it is that one or none: a turn that is resumed sees what it saw before.
        """
        for told in self._held(length, version=version):
            opened, _ = self._storage.open_blobs([told.summary.blob])
            data = opened.get(told.summary.blob)
            # None is left of a compaction that contained words of an erased person.
            if data is not None:
                return Compaction(
                    start=told.summary.start,
                    stop=told.summary.stop,
                    message=_decode(data),
                    version=told.version,
                )
        return None

    def batch(
        self, made: Compaction, *, names: GraphNames, who: ChangeAuthor, source: bytes | None
    ) -> Batch:
        """Return what to write for a new compaction of the messages `source`, if it is given.

        Raises `Conflict` if the conversation no longer begins with them.
        """
        tip = self._tip
        is_there = made.stop <= len(tip)
        if not is_there or source not in (None, tip.sequence.take(made.stop).root):
            raise Conflict(f"graph {tip.graph!r} no longer has the messages that were summed up")
        return squish_start(
            tip,
            made.start,
            made.stop,
            summary=names.new(made.message),
            branch=self._branch(),
            who=who,
            was=self._marks(made.start, made.stop),
        )

    def _branch(self) -> Tip:
        graph, reader = self._tip.graph, self._tip.sequence.reader
        ref = self._storage.ref(COMPACTED)
        if ref is None:
            return no_tip(graph, COMPACTED, reader)
        return read_tip(graph, COMPACTED, ref=ref, reader=reader)

    def _held(self, length: int, *, version: int | None) -> Iterator[StoredSummary]:
        ref = self._storage.ref(COMPACTED)
        if ref is None or version == NO_COMPACTION:
            return
        log = self._storage.log(COMPACTED, ref.version if version is None else version)
        for looks, told in enumerate(stored_summaries(log)):
            if looks == _MOST_LOOKS or (version is not None and looks):
                return
            if still_holds(told.summary, self._tip, length=length):
                yield told

    def _marks(self, start: int, stop: int) -> bytes:
        """Return the marks of messages; those of an earlier compaction are in its version."""
        known = b""
        for told in self._held(stop, version=None):
            if told.summary.start == start:
                known = told.was
                break
        begin = start + len(known)
        marks = marks_from(begin, self._tip, log=self._log, calls=self._calls())
        return known + marks[: stop - begin]

    def _log(self, version: int) -> Iterator[Move]:
        return self._storage.log(MAIN, version)

    def _calls(self) -> Iterator[Call]:
        return (
            call for call in self._storage.calls_back(MAIN) if call.version <= self._tip.version
        )


async def forget_summaries(tx: Tx, person_id: str, *, sealer: Sealer) -> None:
    """Empty the summaries of every conversation that an erased person wrote in."""
    for number, name in await tx.rows(_SQL["graphs_of"], person_id, COMPACTED):

        def names(db: Rows, name: str = name, number: int = number) -> list[bytes]:
            storage = SqlGraphStorage(db, name, sealer=sealer, number=number)
            ref = storage.ref(COMPACTED)
            log = iter(()) if ref is None else storage.log(COMPACTED, ref.version)
            return [told.summary.blob for told in stored_summaries(log)]

        for blob in await tx.look(names):
            tx.put(_SQL["drop_copies"], number, blob, person_id)
            tx.put(_SQL["empty"], number, blob, person_id, b"")
