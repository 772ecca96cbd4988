"""What the parts of the SQLite store share: connections, the writer, the sealer and the clock."""

from typing import Any

import msgspec

from hermes.message.choices import NO_CHOICES, SessionChoices
from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, MessageState, Outcome
from hermes.ports.clock import Clock
from hermes.ports.records import Event, Lease, MessageRecord, Person
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.fresh import FreshViews
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.seal import Sealer
from hermes.store.sqlite.writer import Writer

_INBOX = load("inbox")
_TURNS = load("turns")

encode = msgspec.json.Encoder().encode
decode_event = msgspec.json.Decoder(MessageEvent).decode
_decode_choices = msgspec.json.Decoder(SessionChoices).decode


class Engine:
    """One open database."""

    def __init__(
        self,
        reader: Database,
        *,
        writer: Writer,
        sealer: Sealer,
        clock: Clock,
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.sealer = sealer
        self.clock = clock
        self.fresh = FreshViews()
        # People as they were read last; every unit that changes one clears it.
        self.known_people: dict[str, Person] = {}
        self.waiting = int(reader.one(_INBOX["count_waiting"]))

    def add_events(self, db: Database, message_id: str, events: tuple[Event, ...]) -> None:
        """Write lines of a message's timeline."""
        for event in events:
            db.execute(
                _INBOX["add_event"],
                (message_id, event.at, event.kind, encode(event.data).decode()),
            )

    def holds(self, db: Database, lease: Lease) -> bool:
        """Tell whether a lease still stands."""
        bindings = (lease.lane, lease.owner, lease.fence, self.clock.monotonic())
        return db.row(_TURNS["holds_lease"], bindings) is not None

    # Any: apsw types a row as a tuple of any SQLite values; the query decides the columns.
    def message(self, row: tuple[Any, ...], *, with_event: bool = True) -> MessageRecord:
        """Turn a row of the inbox into a record, opening its body."""
        content = self.sealer.get(self.reader, row[4]) if with_event else None
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
