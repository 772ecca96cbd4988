"""What was said in a session, behind the store port, with the latest sessions kept decoded."""

from typing import Any

import msgspec
import structlog

from hermes.errors import StoreError
from hermes.message.chat import ChatMessage
from hermes.message.event import MessageEvent
from hermes.ports.records import MessageRecord, Result
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.inbox import read_result
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.recent import RecentTranscripts
from hermes.store.sqlite.told import remembered

_SQL = load("transcripts")
_log = structlog.get_logger(__name__)
_decode = msgspec.json.Decoder(ChatMessage).decode
_decode_event = msgspec.json.Decoder(MessageEvent).decode
_TITLE_CHARS = 80


class SqliteTranscripts:
    """Fits `ports.store.TranscriptStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._recent = RecentTranscripts()

    def history(self, lane: str, *, epoch: int, head: int, limit: int) -> tuple[ChatMessage, ...]:
        """Return the newest `limit` entries of an epoch before `head`, oldest first."""
        known = self._recent.get(lane, epoch=epoch, head=head, limit=limit)
        if known is not None:
            return known
        messages = self._read(lane, epoch, head=head, limit=limit) if head else ()
        self._recent.put(lane, messages, epoch=epoch, head=head, limit=limit)
        return messages

    def _read(self, lane: str, epoch: int, *, head: int, limit: int) -> tuple[ChatMessage, ...]:
        reader = self._engine.reader
        rows = reader.rows(_SQL["history"], (lane, epoch, head, limit))
        opened = (self._open(lane, row[0], sealed=row[1]) for row in reversed(rows))
        messages = [_decode(content) for content in opened if content is not None]
        while messages and messages[0].role == "tool":
            # The call that this result answers lies before the cut.
            del messages[0]
        return tuple(messages)

    def _open(self, lane: str, person_id: str, *, sealed: bytes) -> bytes | None:
        """Return an entry; one that does not open must not end the whole conversation."""
        try:
            return self._engine.sealer.open(self._engine.reader, person_id, sealed)
        except StoreError as error:
            _log.error("entry_does_not_open", lane=lane, problem=str(error))
            return None

    def extend(self, lane: str, entries: tuple[ChatMessage, ...], *, epoch: int, head: int) -> None:
        """Add what a commit wrote to the cached session, if that is where it belongs."""
        self._recent.extend(lane, entries, epoch=epoch, head=head)

    def forget(self) -> None:
        """Drop everything decoded; used when a person is erased."""
        self._recent.clear()

    def sessions(self, *, platform: str | None, limit: int) -> tuple[dict[str, Any], ...]:
        """Return sessions, the most recently used first."""
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
                "title": self._title(row[0], row[4], event_body=row[7]),
            }
            for row in rows
        )

    def _title(self, lane: str, epoch: int, *, event_body: int | None) -> str:
        """Return the first words of a session, from its first entry or its first message."""
        reader, sealer = self._engine.reader, self._engine.sealer
        first = reader.row(_SQL["first_entry"], (lane, epoch))
        if first is not None:
            content = sealer.get(reader, first[0])
            return "" if content is None else _decode(content).text[:_TITLE_CHARS]
        content = None if event_body is None else sealer.get(reader, event_body)
        return "" if content is None else _decode_event(content).text[:_TITLE_CHARS]

    def conversation(
        self, lane: str, *, limit: int
    ) -> tuple[tuple[MessageRecord, Result | None], ...]:
        """Return the messages of the session's current epoch with their results, oldest first."""
        rows = self._engine.reader.rows(_SQL["messages"], (lane, limit))
        records = [self._engine.message(row) for row in reversed(rows)]
        known = frozenset(record.id for record in records)
        older = remembered(self._engine, lane, known=known, limit=limit - len(records))
        newer = (
            (record, read_result(self._engine, record.merged_into or record.id))
            for record in records
        )
        return (*older, *newer)
