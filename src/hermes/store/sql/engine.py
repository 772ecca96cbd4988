"""What the parts of the store share: reads, the writer of units, encryption and the clock."""

from collections.abc import Iterable

import msgspec

from hermes.errors import LeaseLost
from hermes.message.choices import NO_CHOICES, SessionChoices
from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, MessageState, Outcome
from hermes.message.session_key import depth_of, is_task
from hermes.ports.clock import Clock
from hermes.ports.shares import Share, ShareCounts
from hermes.ports.steps import Lease, TimelineEvent
from hermes.ports.turns import LaneView, MessageRecord
from hermes.store.sql.feed import SqlFeed
from hermes.store.sql.numbers import Numbers
from hermes.store.sql.places import event_place
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Reads, Row, Tx, Units

_INBOX = load("inbox")
_TURNS = load("turns")

encode = msgspec.json.Encoder().encode
decode_event = msgspec.json.Decoder(MessageEvent).decode
_decode_choices = msgspec.json.Decoder(SessionChoices).decode


class OpenShares:
    """The owners of open messages, in memory; read from the inbox at the start."""

    def __init__(self) -> None:
        self.counts = ShareCounts()
        self._open: dict[str, tuple[str, Share]] = {}
        # The open messages of each lane, in order of arrival.
        self._lanes: dict[str, dict[str, None]] = {}

    def add(self, message_id: str, share: Share, *, lane: str) -> None:
        """Count a waiting message."""
        self._open[message_id] = lane, share
        self._lanes.setdefault(lane, {})[message_id] = None
        self.counts.add(share)

    def came_by(self, lane: str) -> str:
        """Return how the first open message of a lane came in; empty if none is counted."""
        first = next(iter(self._lanes.get(lane, ())), None)
        return "" if first is None else self._open[first][1].account

    def end(self, message_ids: Iterable[str]) -> None:
        """Stop counting messages; unknown ones are no error."""
        for message_id in message_ids:
            if message_id not in self._open:
                continue
            lane, share = self._open.pop(message_id)
            self.counts.add(share, -1)
            del self._lanes[lane][message_id]
            if not self._lanes[lane]:
                del self._lanes[lane]


class Engine:
    """One open database; `open_messages` are the rows of `open_shares` at the start."""

    def __init__(
        self,
        reads: Reads,
        *,
        writer: Units,
        sealer: Sealer,
        clock: Clock,
        feed: SqlFeed,
        open_messages: Iterable[Row],
    ) -> None:
        self.reads = reads
        self.writer = writer
        self.sealer = sealer
        self.clock = clock
        self.feed = feed
        self.graph_numbers = Numbers()
        # The id of this process among those that work on the store; it has none before it joins.
        self.node = ""
        self.fresh = FreshViews()
        feed.on("people", lambda _key: self.fresh.clear())
        feed.on("erasure", sealer.forget)
        feed.on("erasure", lambda _key: self.fresh.clear())
        self.waiting = 0
        self.shares = OpenShares()
        for message_id, person_id, lane, way in open_messages:
            self.waiting += 1
            if is_task(lane) or not depth_of(lane):
                self.shares.add(message_id, Share(way, person_id), lane=lane)

    def add_events(self, tx: Tx, message_id: str, events: tuple[TimelineEvent, ...]) -> None:
        """Write events of a message's timeline."""
        for event in events:
            data = encode(event.data).decode()
            tx.put(_INBOX["add_event"], message_id, event.at, event.kind, data)

    def lock_lane(self, tx: Tx, lease: Lease) -> None:
        """Keep a lane as it is until the unit ends; the unit fails if its lease was lost.

        The first statement of every unit that writes under a lease and changes no lane.
        """
        lost = LeaseLost(f"lane {lease.lane}: fence {lease.fence} no longer holds it")
        tx.lock(_TURNS["holds_lease"], lease.lane, lease.owner, lease.fence, error=lost)

    async def message(self, row: Row) -> MessageRecord:
        """Convert an inbox row into a record, decrypting its body."""
        content = await self.sealer.get(self.reads, row[4], owner=row[3], place=event_place(row[1]))
        return message_record(row, content)


def message_record(row: Row, content: bytes | None) -> MessageRecord:
    """Return an inbox row as a record; `content` is its decrypted body."""
    return MessageRecord(
        seq=row[0],
        id=row[1],
        lane=row[2],
        person_id=row[3],
        event=None if content is None else decode_event(content),
        state=MessageState(row[5]),
        busy=BusyPolicy(row[6]),
        control=bool(row[7]),
        received_at=row[8],
        attempts=row[9],
        external_id=row[10],
        platform=row[11],
        outcome=None if row[12] is None else Outcome(row[12]),
        done_at=row[13],
        merged_into=row[14],
        interrupted_by=row[15],
    )


def read_choices(kept: str | None) -> SessionChoices:
    """Return what the people of a session chose for it."""
    return NO_CHOICES if kept is None else _decode_choices(kept)


class FreshViews:
    """The lanes that the last transaction left with one open message, or with none."""

    def __init__(self) -> None:
        self._views: dict[str, LaneView] = {}
        self._commits = -1

    def put(self, view: LaneView, *, commits: int) -> None:
        """Keep a view; `commits` counts the transactions that have ended so far."""
        if commits != self._commits:
            self._views.clear()
            self._commits = commits
        self._views[view.lane] = view

    def take(self, lane: str, *, commits: int) -> LaneView | None:
        """Return the lane's view once, if it is still valid."""
        return self._views.pop(lane, None) if commits == self._commits else None

    def clear(self) -> None:
        """Drop all: something other than a turn has changed a lane or a person."""
        self._views.clear()
