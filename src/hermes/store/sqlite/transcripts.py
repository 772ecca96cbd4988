"""What was said in a session, behind the store port, with the latest sessions kept decoded."""

from collections import OrderedDict
from typing import Any

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.event import MessageEvent
from hermes.ports.records import MessageRecord
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.queries import load

_SQL = load("transcripts")
_decode = msgspec.json.Decoder(ChatMessage).decode
_decode_event = msgspec.json.Decoder(MessageEvent).decode
_CACHED_SESSIONS = 256
_CACHED_ENTRIES = 64
_TITLE_CHARS = 80


class SqliteTranscripts:
    """Fits `ports.store.TranscriptStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cache: OrderedDict[str, tuple[int, int, int, tuple[ChatMessage, ...]]] = OrderedDict()

    def history(self, lane: str, *, epoch: int, head: int, limit: int) -> tuple[ChatMessage, ...]:
        """Return the newest `limit` entries of an epoch before `head`, oldest first."""
        if head == 0:
            return ()
        cached = self._cache.get(lane)
        if cached is not None and cached[:3] == (epoch, head, limit):
            self._cache.move_to_end(lane)
            return cached[3]
        messages = self._read(lane, epoch, head=head, limit=limit)
        self._keep(lane, (epoch, head, limit, messages))
        return messages

    def _read(self, lane: str, epoch: int, *, head: int, limit: int) -> tuple[ChatMessage, ...]:
        reader = self._engine.reader
        rows = reader.rows(_SQL["history"], (lane, epoch, head, limit))
        opened = (self._engine.sealer.open(reader, row[0], row[1]) for row in reversed(rows))
        return tuple(_decode(content) for content in opened if content is not None)

    def _keep(self, lane: str, value: tuple[int, int, int, tuple[ChatMessage, ...]]) -> None:
        self._cache.pop(lane, None)
        if len(value[3]) > _CACHED_ENTRIES:
            return
        self._cache[lane] = value
        if len(self._cache) > _CACHED_SESSIONS:
            self._cache.popitem(last=False)

    def extend(self, lane: str, entries: tuple[ChatMessage, ...], *, epoch: int, head: int) -> None:
        """Add what a commit wrote to the cached session, if that is where it belongs."""
        cached = self._cache.get(lane)
        if cached is None:
            return
        known_epoch, known_head, limit, messages = cached
        if (known_epoch, known_head + len(entries)) != (epoch, head):
            del self._cache[lane]
            return
        self._keep(lane, (epoch, head, limit, (messages + entries)[-limit:]))

    def forget(self) -> None:
        """Drop everything decoded; used when a person is erased."""
        self._cache.clear()

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
                "title": self._title(row[7]),
            }
            for row in rows
        )

    def _title(self, body: int | None) -> str:
        content = None if body is None else self._engine.sealer.get(self._engine.reader, body)
        return "" if content is None else _decode_event(content).text[:_TITLE_CHARS]

    def messages(self, lane: str, *, limit: int) -> tuple[MessageRecord, ...]:
        """Return the messages of the session's current epoch, oldest first."""
        rows = self._engine.reader.rows(_SQL["messages"], (lane, limit))
        return tuple(self._engine.message(row) for row in reversed(rows))
