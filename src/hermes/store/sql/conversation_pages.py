"""Reads a session's conversation in pages, newest page first, across all its epochs.

The newest messages have rows in the inbox; older ones are only in the message graphs, one per
epoch. The cost of a page depends on its own length, not on the length of the conversation.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import Any, NamedTuple

import msgspec
import structlog

from hermes.errors import BadRequest, NotFound, StoreError
from hermes.graph.records import Move
from hermes.graph.rewind import Log, spans, spans_and_repeats
from hermes.message.chat import ChatMessage
from hermes.message.continuations import answer_text
from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, MessageState, Outcome
from hermes.message.parts import NotePart
from hermes.message.reply import Usage
from hermes.message.session_key import graph_name
from hermes.message.source import Source
from hermes.ports.session_history import ConversationMessage, ConversationPage, TakenOut
from hermes.ports.turns import MessageRecord, TurnResult
from hermes.store.sql.engine import message_record
from hermes.store.sql.inbox import decode_result
from hermes.store.sql.places import event_place, result_place
from hermes.store.sql.queries import load
from hermes.store.sql.session_history import MAIN
from hermes.store.sql.transcript_reader import TranscriptReader

_SQL = load("transcripts")
_INBOX = load("inbox")
_log = structlog.get_logger(__name__)
_NEWEST = 2**62
# Graphs and messages that a page may inspect per message: messages with a row in the inbox are
# skipped in the graph, and so are empty graphs.
_LOOKS = 4


class PageCursor(NamedTuple):
    """Where a page ends: before the inbox row `seq`, or in a graph before message `length`.

    `version` is the version of the graph's branch from which its log is read.
    """

    seq: int = 0
    graph: int = _NEWEST
    version: int = 0
    length: int = 0

    def __str__(self) -> str:
        if self.seq:
            return f"m.{self.seq}"
        return f"g.{self.graph}.{self.version}.{self.length}"


def read_place(text: str | None) -> PageCursor:
    """Parse the cursor of a page; raises `BadRequest`."""
    if text is None:
        return PageCursor(seq=_NEWEST)
    kind, *found = text.split(".")
    numbers = [int(one) for one in found if one.isascii() and one.isdecimal() and len(one) < 19]
    if kind == "m" and len(numbers) == len(found) == 1 and numbers[0]:
        return PageCursor(seq=numbers[0])
    if kind == "g" and len(numbers) == len(found) == 3:
        return PageCursor(0, *numbers)
    raise BadRequest(
        f"before={text[:80]!r} is not a place in a conversation: use the `earlier` of the last page."
    )


class ConversationPages:
    """Reads the pages of one session."""

    def __init__(
        self, reader: TranscriptReader, lane: str, *, epoch: int, person_id: str | None
    ) -> None:
        self._reader = reader
        self._lane = lane
        self._epoch = epoch
        self._person_id = person_id

    def page(self, limit: int, place: PageCursor) -> ConversationPage:
        """Return the last `limit` messages before a cursor, oldest first."""
        found: list[ConversationMessage] = []
        earlier: PageCursor | None = place
        is_whole = True
        if place.seq:
            found, is_whole = self._kept(limit, place.seq)
            earlier = PageCursor(seq=found[-1].record.seq) if found else place
        if is_whole and earlier is not None:
            looks = _LOOKS * (limit + 1)
            older, earlier = self._remembered(limit - len(found), earlier, looks=looks)
            found += older
        return ConversationPage(
            messages=tuple(reversed(found)),
            epoch=self._epoch,
            earlier=None if earlier is None else str(earlier),
        )

    def _kept(self, limit: int, before: int) -> tuple[list[ConversationMessage], bool]:
        """Return messages with inbox rows, newest first, and whether these are the oldest rows."""
        db, sealer = self._reader.db, self._reader.sealer
        bindings = (self._lane, before, self._epoch, self._person_id, limit + 1)
        rows = db.rows(_SQL["messages"], bindings)
        found = []
        for row in rows[:limit]:
            said = sealer.get_at_once(db, row[4], owner=row[3], place=event_place(row[1]))
            record = message_record(row, said)
            result = self._result(record.merged_into or record.id)
            found.append(ConversationMessage(record, result, epoch=row[16]))
        return self._marked(found), len(rows) <= limit

    def _marked(self, found: list[ConversationMessage]) -> list[ConversationMessage]:
        """Return messages, each with what was taken out of the conversation since."""
        gone: dict[str, TakenOut] = {}
        for epoch in {one.epoch for one in found}:
            since = min(one.record.received_at for one in found if one.epoch == epoch)
            name = graph_name(self._lane, epoch)
            gone |= taken_out(self._reader, name, since=since, most=len(found))
        return [
            msgspec.structs.replace(one, taken_out=gone.get(_turn_of(one.record), ""))
            for one in found
        ]

    def _result(self, message_id: str) -> TurnResult | None:
        """Return the answer to a finished message."""
        db, sealer = self._reader.db, self._reader.sealer
        row = db.row(_INBOX["result"], (message_id,))
        if row is None or row[1] is None:
            return None
        content = sealer.get_at_once(db, row[1], owner=row[2], place=result_place(message_id))
        reply = None if row[0] is None else sealer.get_at_once(db, row[0], owner=row[2])
        return decode_result(content, reply)

    def _remembered(
        self, limit: int, place: PageCursor, *, looks: int
    ) -> tuple[list[ConversationMessage], PageCursor | None]:
        """Return messages that only graphs have, newest first, and the next cursor."""
        found: list[ConversationMessage] = []
        for number, (after, message) in enumerate(self._walk(place, looks)):
            if number == looks:
                return found, place
            if message is not None:
                if len(found) == limit:
                    return found, place
                found.append(message)
            place = after
        return found, None

    def _walk(
        self, place: PageCursor, most: int
    ) -> Iterator[tuple[PageCursor, ConversationMessage | None]]:
        """Yield the graphs' messages before a cursor, newest first, with the cursor after each.

        Yields None for what is not shown from the graph, and once for each graph.
        """
        rows = self._reader.db.rows(_SQL["graphs"], (self._lane, place.graph, most + 1))
        for number, name in rows:
            start = place if number == place.graph else None
            try:
                yield from self._walk_graph(number, name, start=start)
            except (NotFound, StoreError) as error:
                # One damaged graph must not hide the others.
                _log.error("conversation_does_not_open", graph=name, problem=str(error))

    def _walk_graph(
        self, number: int, name: str, *, start: PageCursor | None
    ) -> Iterator[tuple[PageCursor, ConversationMessage | None]]:
        storage = self._reader.storage(name)
        tip = self._reader.tip(name, storage)
        version, length = tip.version, len(tip)
        if start is not None:
            version, length = min(start.version, version), min(start.length, length)
        yield PageCursor(0, number, version, length), None
        epoch = int(name.rpartition("#")[2])
        for span in spans(partial(storage.log, MAIN), version, length=length):
            after = PageCursor(0, number, max(span.move.number - 1, 0), span.start)
            took = self._took(span.move.edit.reason, epoch)
            if took is None:
                yield after, None
                continue
            names = [blob.id for blob in tip.sequence.names(span.start, span.stop)]
            opened = self._reader.messages(storage, names, lane=self._lane)
            said = [one for one in opened if one is not None]
            told = _told(span.move.edit.reason, took, said=said, lane=self._lane)
            yield after, None if told is None else ConversationMessage(*told, epoch=epoch)

    # Any: apsw types a row as a tuple of any SQLite values; the query decides the columns.
    def _took(self, message_id: str, epoch: int) -> tuple[Any, ...] | None:
        """Return the usage of a message's turn; None if it is not shown from the graph."""
        reader = self._reader.db
        if reader.row(_SQL["has_row"], (message_id,)) is not None:
            return None
        row = reader.row(_SQL["provenance"], (message_id, self._lane))
        is_theirs = epoch == self._epoch or self._person_id is None
        return row if row is not None and (is_theirs or row[0] == self._person_id) else None


# Any: as above.
def _told(
    message_id: str, took: tuple[Any, ...], *, said: Sequence[ChatMessage], lane: str
) -> tuple[MessageRecord, TurnResult] | None:
    """Return an exchange as a record with its result; None if nothing of it is left."""
    if not said or said[0].role != "user":
        return None
    person_id, platform, chat_id, at, model, tokens_in, tokens_out, cost, unpriced = took
    reply = answer_text(said)
    event = MessageEvent(
        account="",
        route="",
        external_id=message_id,
        source=Source(platform=platform, chat_id=chat_id, user_id=""),
        parts=tuple(part for part in said[0].parts if not isinstance(part, NotePart)),
        at=at,
    )
    record = MessageRecord(
        id=message_id,
        seq=0,
        lane=lane,
        person_id=person_id,
        event=event,
        state=MessageState.DONE,
        busy=BusyPolicy.QUEUE,
        control=False,
        received_at=at,
        attempts=1,
        external_id=message_id,
        platform=platform,
        outcome=Outcome.ANSWERED if reply else Outcome.FAILED,
        done_at=at,
    )
    usage = Usage(tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost, unpriced=unpriced)
    return record, TurnResult(text=reply, usage=usage, model=model)


def _turn_of(record: MessageRecord) -> str:
    return record.merged_into or record.id


def taken_out(
    reader: TranscriptReader, name: str, *, since: float, most: int
) -> dict[str, TakenOut]:
    """Return what was taken out of a graph, by the message whose turn had added it."""
    storage = reader.storage(name)
    try:
        tip = reader.tip(name, storage)
        log = partial(storage.log, MAIN)
        return removed_parts(
            log, tip.version, length=len(tip), since=since, looks=_LOOKS * (most + 1)
        )
    except (NotFound, StoreError) as error:
        # A damaged graph must not hide its messages.
        _log.error("conversation_does_not_open", graph=name, problem=str(error))
        return {}


def removed_parts(
    log: Log, version: int, *, length: int, since: float, looks: int
) -> dict[str, TakenOut]:
    """Return what a version lacks of what turns have added since a time, by their messages.

    A turn of which nothing is left was taken out whole; one that lacks its end lost its reply. A
    retry takes the place of the reply before it also where it says the same again.
    """
    left, repeated = _left_since(log, version, length=length, since=since)
    moves = takewhile(lambda move: not _is_before(move, since), islice(log(version), looks))
    added = {
        move.edit.reason: move.edit.added
        for move in moves
        if (move.edit.added or move.edit.kind == "retry") and move.content == move.number
    }
    return {
        reason: "reply" if left.get(reason) else "all"
        for reason, count in added.items()
        if left.get(reason, -1) < count or reason in repeated
    }


def _left_since(
    log: Log, version: int, *, length: int, since: float
) -> tuple[dict[str, int], set[str]]:
    """Return how many messages are left of each turn, and the turns whose reply a retry repeats.

    An earlier retry of the same reply is not among them: nothing is left of it.
    """
    left: dict[str, int] = {}
    repeated: set[str] = set()
    is_retried = False
    for span in takewhile(
        lambda span: not _is_before(span.move, since),
        spans_and_repeats(log, version, length=length),
    ):
        reason, is_retry = span.move.edit.reason, span.move.edit.kind == "retry"
        if not (is_retried and is_retry):
            left[reason] = left.get(reason, 0) + span.stop - span.start
        # A turn's first message is what was said.
        if is_retried and not is_retry and left[reason] > 1:
            repeated.add(reason)
        is_retried = is_retry
    return left, repeated


def _is_before(move: Move, since: float) -> bool:
    return move.at is not None and move.at < since
