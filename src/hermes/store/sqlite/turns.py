"""Lanes, leases, steps and the one transaction that ends a turn."""

from collections.abc import Sequence

import msgspec

from hermes.errors import GuardFailed, LeaseLost
from hermes.message.chat import ChatMessage
from hermes.message.ids import MakeId
from hermes.message.outcome import Outcome
from hermes.message.reply import Usage
from hermes.ports.steps import Lease, Step, StepFacts, StepWrite
from hermes.ports.turns import Begin, Commit, LaneView, MessageRecord
from hermes.store.sqlite.commit import CommitUnit
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.engine import Engine, read_choices
from hermes.store.sqlite.mirrors import DeliveredMessage, Mirrors
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.souls import SqliteSouls
from hermes.store.sqlite.spend import add_spent
from hermes.store.sqlite.steps import end_steps, start_steps
from hermes.store.sqlite.transcripts import GraphWrite, SqliteTranscripts
from hermes.store.sqlite.wallet import end_hold, set_aside

_SQL = load("turns")
_INBOX = load("inbox")
_OUTBOX = load("outbox")
_decode_facts = msgspec.json.Decoder(StepFacts).decode


class SqliteTurns:
    """Implements `ports.turns.TurnStore`."""

    def __init__(
        self,
        engine: Engine,
        *,
        transcripts: SqliteTranscripts,
        souls: SqliteSouls,
        make_id: MakeId,
    ) -> None:
        self._engine = engine
        self._souls = souls
        self._mirrors = Mirrors(engine, make_id=make_id)
        self._transcripts = transcripts

    async def lanes_with_work(self) -> tuple[str, ...]:
        """Return every lane that has an unfinished message, oldest first."""
        rows = self._engine.reader.rows(_SQL["lanes_with_work"])
        return tuple(str(row[0]) for row in rows)

    async def view(self, lane: str) -> LaneView:
        """Return the next message of a lane, and its steps if it has begun."""
        fresh = self._engine.fresh.take(lane, commits=self._engine.writer.commits)
        return fresh if fresh is not None else self._read_view(lane)

    def _read_view(self, lane: str) -> LaneView:
        row = self._engine.reader.row(_SQL["view"], (lane,))
        if row is None:
            return LaneView(lane=lane, fence=0, epoch=0, head=0, message=None)
        fence, epoch, head, waiting_on, used_at, end_reason, choices, is_followed = row[16:]
        message = None if row[0] is None else self._engine.message(row)
        resumed = message is not None and message.attempts > 0
        return LaneView(
            lane=lane,
            fence=fence,
            epoch=epoch,
            head=head,
            message=message,
            steps=self.steps(message.id) if message is not None and resumed else (),
            waiting_on=waiting_on,
            interrupted_by=self._interrupter(message) if message is not None and resumed else None,
            restarts=int(self._engine.reader.one(_SQL["restarts"], (lane,))) if resumed else 0,
            used_at=used_at,
            end_reason=end_reason,
            choices=read_choices(choices),
            is_followed=bool(is_followed),
        )

    def _interrupter(self, message: MessageRecord) -> str | None:
        row = self._engine.reader.rows(
            _SQL["interrupter"], (message.lane, message.seq, message.id)
        )[0]
        return None if row[0] is None else str(row[0])

    def steps(self, message_id: str) -> tuple[Step, ...]:
        """Return the steps of a turn, in order, with their bodies."""
        rows = self._engine.reader.rows(_SQL["steps"], (message_id,))
        return tuple(
            Step(
                ordinal=row[0],
                kind=row[1],
                state=row[2],
                name=row[3],
                arguments_hash=row[4],
                body=None
                if row[5] is None
                else self._engine.sealer.get(self._engine.reader, row[5]),
                usage=Usage(*row[6:12]),
                payer=row[12],
                at=row[13],
                ended_at=row[14],
                facts=_decode_facts(row[15]) if row[15] else None,
            )
            for row in rows
        )

    async def begin(self, begin: Begin) -> Lease:
        """Lease the lane and start the message's turn; raises `LeaseLost` if the lane moved.

        Raises `NoCredits` if the balance does not cover a limited hold.
        """

        def unit(db: Database) -> Lease:
            now = self._engine.clock.monotonic()
            db.execute(_SQL["lease"], (begin.lane, begin.owner, begin.fence, begin.expires, now))
            if db.changes() != 1:
                raise LeaseLost(f"lane {begin.lane}: another worker holds it")
            db.execute(_SQL["start_message"], (begin.message_id, begin.at))
            if db.changes() != 1:
                raise GuardFailed(f"message {begin.message_id} has ended already")
            if begin.hold is not None:
                sealer = self._engine.sealer
                set_aside(db, begin.hold, message_id=begin.message_id, at=begin.at, sealer=sealer)
            start_steps(
                self._engine, db, begin.message_id, person_id=begin.person_id, steps=begin.steps
            )
            _claim(db, begin.claims, host=begin.message_id)
            self._engine.add_events(db, begin.message_id, begin.events)
            return Lease(begin.lane, begin.owner, begin.fence + 1)

        return await self._engine.writer.run("begin", unit)

    async def renew(self, leases: Sequence[Lease], *, expires: float) -> tuple[Lease, ...]:
        """Extend leases that have not expired; return those that were lost."""

        def unit(db: Database) -> tuple[Lease, ...]:
            now = self._engine.clock.monotonic()
            lost = []
            for lease in leases:
                db.execute(_SQL["renew"], (lease.lane, lease.owner, lease.fence, now, expires))
                if db.changes() != 1:
                    lost.append(lease)
            return tuple(lost)

        return await self._engine.writer.run("renew", unit)

    async def step(self, lease: Lease, write: StepWrite) -> None:
        """Record steps of the turn."""
        await self._engine.writer.run("step", lambda db: self.write_steps(db, lease, write))

    def write_steps(self, db: Database, lease: Lease, write: StepWrite) -> None:
        """Write steps inside a transaction, if the lease is still valid."""
        if not self._engine.holds(db, lease):
            raise LeaseLost(f"lane {lease.lane}: fence {lease.fence} no longer holds it")
        end_steps(self._engine, db, write.message_id, person_id=write.person_id, steps=write.ended)
        start_steps(
            self._engine, db, write.message_id, person_id=write.person_id, steps=write.started
        )
        _claim(db, write.claims, host=write.message_id)
        add_spent(db, write.spent)
        self._engine.add_events(db, write.message_id, write.events)

    async def commit(self, lease: Lease, commit: Commit) -> None:
        """End the turn and release the lane."""
        engine = self._engine

        def unit(db: Database) -> tuple[GraphWrite | None, LaneView | None, int]:
            work = CommitUnit(
                engine,
                lease=lease,
                commit=commit,
                transcripts=self._transcripts,
                souls=self._souls,
            )
            written, told = work.run(db), 0
            if commit.mirrors:
                told = len(self._mirrors.write(db, commit.mirrors, _delivered(commit)))
            return written, _idle_view(db, lease.lane), told

        def after(done: tuple[GraphWrite | None, LaneView | None, int]) -> None:
            written, idle, told = done
            engine.waiting += told - 1 - len(commit.merged)
            engine.shares.end((commit.message_id, *commit.merged))
            if written is not None:
                self._transcripts.extend(lease.lane, commit, written)
            if idle is not None:
                engine.fresh.put(idle, commits=engine.writer.commits)
            if commit.reset_lane is not None or told:
                engine.fresh.clear()

        await engine.writer.run("commit", unit, after=after)

    async def abandon(self, message_id: str, outcome: Outcome) -> None:
        """End a message that cannot be committed normally, without a reply or a charge."""
        now = self._engine.clock.now()

        def unit(db: Database) -> int:
            db.execute(_SQL["abandon"], (message_id, outcome.value, now))
            ended = db.changes()
            end_hold(db, message_id, charge=None, at=now)
            db.execute(_SQL["unclaim"], (message_id,))
            db.execute(_SQL["free_lane"], (message_id,))
            db.execute(_OUTBOX["close_preview"], (message_id, now))
            return ended

        def after(ended: int) -> None:
            self._engine.waiting -= ended
            self._engine.shares.end((message_id,))

        await self._engine.writer.run("abandon", unit, after=after)

    async def waiting(self, lane: str) -> tuple[MessageRecord, ...]:
        """Return messages that wait on a lane, oldest first."""
        rows = self._engine.reader.rows(_SQL["waiting"], (lane,))
        return tuple(self._engine.message(row) for row in rows)

    async def below(self, lane: str) -> tuple[MessageRecord, ...]:
        """Return unfinished messages on lanes below one, oldest first."""
        rows = self._engine.reader.rows(_SQL["below"], (lane,))
        return tuple(self._engine.message(row) for row in rows)

    async def steering(self, lane: str, person_id: str) -> tuple[MessageRecord, ...]:
        """Return waiting messages of the person that want to join their running turn."""
        rows = self._engine.reader.rows(_SQL["steering"], (lane, person_id))
        return tuple(self._engine.message(row) for row in rows)


def _claim(db: Database, claims: tuple[str, ...], *, host: str) -> None:
    for claimed in claims:
        db.execute(_SQL["claim"], (claimed, host))
        if db.changes() != 1:
            raise GuardFailed(f"message {claimed} no longer waits, or is another person's")


def _delivered(commit: Commit) -> DeliveredMessage:
    """Return the reply of a commit in the form for the mirrors of its chat."""
    delivery = commit.deliveries[0]
    said = ChatMessage("assistant", delivery.parts or ())
    return DeliveredMessage(delivery.id, delivery.target.account, said, commit.at)


def _idle_view(db: Database, lane: str) -> LaneView | None:
    """Return the view of a lane without open messages, else None."""
    row = db.row(_SQL["lane"], (lane,))
    if row is None or db.row(_INBOX["under_way"], (lane,)) is not None:
        return None
    fence, epoch, head, waiting_on, used_at, end_reason, choices = row
    return LaneView(
        lane=lane,
        fence=fence,
        epoch=epoch,
        head=head,
        message=None,
        waiting_on=waiting_on,
        used_at=used_at,
        end_reason=end_reason,
        choices=read_choices(choices),
    )
