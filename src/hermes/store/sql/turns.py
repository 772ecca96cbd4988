"""Lanes, leases, steps and the one transaction that ends a turn."""

import msgspec

from hermes.errors import GuardFailed, LeaseLost
from hermes.message.chat import ChatMessage
from hermes.message.ids import MakeId
from hermes.message.outcome import Outcome
from hermes.message.reply import Usage
from hermes.message.session_key import turn_branch
from hermes.ports.steps import KeptSession, Lease, Step, StepFacts, StepWrite, TimelineEvent
from hermes.ports.turns import Begin, BranchTurn, Commit, LaneView, MessageRecord
from hermes.store.sql.commit import CommitUnit
from hermes.store.sql.engine import Engine, encode, read_choices
from hermes.store.sql.mirrors import DeliveredMessage, Mirrors
from hermes.store.sql.queries import load
from hermes.store.sql.souls import SqlSouls
from hermes.store.sql.spend import add_spent
from hermes.store.sql.steps import end_steps, start_steps
from hermes.store.sql.transcripts import GraphWrite, SqlTranscripts
from hermes.store.sql.tx import Tx
from hermes.store.sql.wallet import end_hold, set_aside

_SQL = load("turns")
_INBOX = load("inbox")
_OUTBOX = load("outbox")
_APPROVALS = load("approvals")
_decode_facts = msgspec.json.Decoder(StepFacts).decode
_decode_session = msgspec.json.Decoder(KeptSession).decode


class SqlTurns:
    """Implements `ports.turns.TurnStore`."""

    def __init__(
        self,
        engine: Engine,
        *,
        transcripts: SqlTranscripts,
        souls: SqlSouls,
        make_id: MakeId,
    ) -> None:
        self._engine = engine
        self._souls = souls
        self._mirrors = Mirrors(engine, make_id=make_id)
        self._transcripts = transcripts

    async def lanes_with_work(self) -> tuple[str, ...]:
        """Return every lane that has an unfinished message, oldest first."""
        rows = await self._engine.reads.rows(_SQL["lanes_with_work"])
        return tuple(str(row[0]) for row in rows)

    async def view(self, lane: str) -> LaneView:
        """Return the next message of a lane, and its steps if it has begun."""
        fresh = self._engine.fresh.take(lane, commits=self._engine.writer.commits)
        return fresh if fresh is not None else await self._read_view(lane)

    async def _read_view(self, lane: str) -> LaneView:
        row = await self._engine.reads.row(_SQL["view"], lane)
        if row is None:
            return LaneView(lane=lane, fence=0, epoch=0, head=0, message=None)
        fence, epoch, head, waiting_on, used_at, end_reason, choices, is_followed = row[16:24]
        message = None if row[0] is None else await self._engine.message(row)
        resumed = message is not None and message.attempts > 0
        return LaneView(
            lane=lane,
            fence=fence,
            epoch=epoch,
            head=head,
            message=message,
            steps=await self.steps(message.id) if message is not None and resumed else (),
            waiting_on=waiting_on,
            interrupted_by=await self._interrupter(message)
            if message is not None and resumed
            else None,
            restarts=int(await self._engine.reads.one(_SQL["restarts"], lane)) if resumed else 0,
            used_at=used_at,
            end_reason=end_reason,
            choices=read_choices(choices),
            is_followed=bool(is_followed),
            is_temporary=bool(row[24]),
        )

    async def _interrupter(self, message: MessageRecord) -> str | None:
        row = (
            await self._engine.reads.rows(
                _SQL["interrupter"], message.lane, message.seq, message.id
            )
        )[0]
        return None if row[0] is None else str(row[0])

    async def steps(self, message_id: str) -> tuple[Step, ...]:
        """Return the steps of a turn, in order, with their bodies."""
        rows = await self._engine.reads.rows(_SQL["steps"], message_id)
        return tuple(
            [
                Step(
                    ordinal=row[0],
                    kind=row[1],
                    state=row[2],
                    name=row[3],
                    arguments_hash=row[4],
                    body=None
                    if row[5] is None
                    else await self._engine.sealer.get(self._engine.reads, row[5], owner=row[16]),
                    usage=Usage(*row[6:12]),
                    payer=row[12],
                    at=row[13],
                    ended_at=row[14],
                    facts=_decode_facts(row[15]) if row[15] else None,
                )
                for row in rows
            ]
        )

    async def begin(self, begin: Begin) -> Lease:
        """Lease the lane and start the message's turn; raises `LeaseLost` if the lane moved.

        Raises `NoCredits` if the balance does not cover a limited hold.
        """

        async def unit(tx: Tx) -> Lease:
            held = LeaseLost(f"lane {begin.lane}: another worker holds it")
            tx.must(_SQL["lease"], begin.lane, begin.owner, begin.fence, error=held)
            tx.must(
                _SQL["start_message"],
                begin.message_id,
                begin.at,
                error=GuardFailed(f"message {begin.message_id} has ended already"),
            )
            if begin.hold is not None:
                sealer = self._engine.sealer
                await set_aside(
                    tx, begin.hold, message_id=begin.message_id, at=begin.at, sealer=sealer
                )
            await start_steps(
                self._engine, tx, begin.message_id, person_id=begin.person_id, steps=begin.steps
            )
            _claim(tx, begin.claims, host=begin.message_id)
            self._engine.add_events(tx, begin.message_id, begin.events)
            return Lease(begin.lane, begin.owner, begin.fence + 1, begin.head)

        return await self._engine.writer.run("begin", unit)

    async def step(self, lease: Lease, write: StepWrite) -> None:
        """Record steps of the turn."""
        await self._engine.writer.run("step", lambda tx: self.write_steps(tx, lease, write))

    async def write_steps(self, tx: Tx, lease: Lease, write: StepWrite) -> None:
        """Write steps inside a transaction, if the lease is still valid."""
        self._engine.lock_lane(tx, lease)
        await end_steps(
            self._engine, tx, write.message_id, person_id=write.person_id, steps=write.ended
        )
        await start_steps(
            self._engine, tx, write.message_id, person_id=write.person_id, steps=write.started
        )
        _claim(tx, write.claims, host=write.message_id)
        if write.session is not None:
            tx.put(_SQL["keep_session"], lease.lane, encode(write.session).decode())
        add_spent(tx, write.spent)
        self._engine.add_events(tx, write.message_id, write.events)

    async def kept_session(self, lane: str) -> KeptSession | None:
        """Return the session that an adapter has for the conversation of a lane."""
        row = await self._engine.reads.row(_SQL["kept_session"], lane)
        return None if row is None or row[0] is None else _decode_session(row[0])

    async def commit(self, lease: Lease, commit: Commit) -> None:
        """End the turn and release the lane."""
        engine = self._engine

        async def unit(tx: Tx) -> tuple[GraphWrite | None, LaneView | None, int]:
            work = CommitUnit(
                engine,
                lease=lease,
                commit=commit,
                transcripts=self._transcripts,
                souls=self._souls,
            )
            written, told = await work.run(tx), 0
            if commit.mirrors:
                told = len(await self._mirrors.write(tx, commit.mirrors, _delivered(commit)))
            return written, await _idle_view(tx, lease.lane), told

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

        async def unit(tx: Tx) -> int:
            ended = await tx.changed(_SQL["abandon"], message_id, outcome.value, now)
            await end_hold(tx, message_id, charge=None, at=now)
            tx.put(_SQL["unclaim"], message_id)
            tx.put(_SQL["free_lane"], message_id)
            tx.put(_APPROVALS["close_questions"], message_id)
            tx.put(_OUTBOX["close_preview"], message_id, now)
            return ended

        def after(ended: int) -> None:
            self._engine.waiting -= ended
            self._engine.shares.end((message_id,))

        await self._engine.writer.run("abandon", unit, after=after)

    async def interrupt(self, message_id: str, *, by: str) -> tuple[tuple[str, str], ...]:
        """Write that a message has to end, with everything that its turn has started.

        Returns the lanes and the ids, its own first; nothing if it has ended already.
        """

        async def unit(tx: Tx) -> tuple[tuple[str, str], ...]:
            is_first = await tx.changed(_SQL["interrupt"], message_id, by) == 1
            row = await tx.row(_SQL["interrupted_lane"], message_id)
            if row is None:
                return ()
            if is_first:
                stop = TimelineEvent("stopped", self._engine.clock.now(), {"by": by})
                self._engine.add_events(tx, message_id, (stop,))
            below = await tx.rows(_SQL["interrupt_branch"], message_id, by)
            return (str(row[0]), message_id), *((str(lane), str(name)) for lane, name in below)

        fresh = self._engine.fresh
        return await self._engine.writer.run("interrupt", unit, after=lambda _: fresh.clear())

    async def waiting(self, lane: str) -> tuple[MessageRecord, ...]:
        """Return messages that wait on a lane, oldest first."""
        rows = await self._engine.reads.rows(_SQL["waiting"], lane)
        return tuple([await self._engine.message(row) for row in rows])

    async def below(self, lane: str) -> tuple[MessageRecord, ...]:
        """Return unfinished messages on lanes below one, oldest first."""
        rows = await self._engine.reads.rows(_SQL["below"], lane)
        return tuple([await self._engine.message(row) for row in rows])

    async def count_below(self, lane: str) -> int:
        """Return how many unfinished messages are on lanes below one."""
        return int(await self._engine.reads.one(_SQL["count_below"], lane))

    async def first(self, lane: str) -> MessageRecord | None:
        """Return the first message of a lane, which may have ended."""
        row = await self._engine.reads.row(_SQL["first"], lane)
        return None if row is None else await self._engine.message(row)

    async def branch(self, lane: str, message_id: str, *, limit: int) -> tuple[BranchTurn, ...]:
        """Return what the turn of a message has started, at any depth, oldest first."""
        begins = turn_branch(lane, message_id).removesuffix(".")
        rows = await self._engine.reads.rows(_SQL["branch"], begins, limit)
        return tuple([await self.used(await self._engine.message(row)) for row in rows])

    async def used(self, message: MessageRecord) -> BranchTurn:
        """Return a message with what its model calls took so far."""
        rows = await self._engine.reads.rows(_SQL["used"], message.id)
        used = {row[0]: Usage(*row[1:]) for row in rows}
        return BranchTurn(
            message=message,
            usage=used.get("person", Usage()),
            platform_usage=used.get("platform", Usage()),
        )

    async def steering(self, lane: str, person_id: str) -> tuple[MessageRecord, ...]:
        """Return waiting messages of the person that want to join their running turn."""
        rows = await self._engine.reads.rows(_SQL["steering"], lane, person_id)
        return tuple([await self._engine.message(row) for row in rows])


def _claim(tx: Tx, claims: tuple[str, ...], *, host: str) -> None:
    for claimed in claims:
        tx.must(
            _SQL["claim"],
            claimed,
            host,
            error=GuardFailed(f"message {claimed} no longer waits, or is another person's"),
        )


def _delivered(commit: Commit) -> DeliveredMessage:
    """Return the reply of a commit in the form for the mirrors of its chat."""
    delivery = commit.deliveries[0]
    said = ChatMessage("assistant", delivery.parts or ())
    return DeliveredMessage(delivery.id, delivery.target.account, said, commit.at)


async def _idle_view(tx: Tx, lane: str) -> LaneView | None:
    """Return the view of a lane without open messages, else None."""
    row = await tx.row(_SQL["lane"], lane)
    if row is None or await tx.row(_INBOX["under_way"], lane) is not None:
        return None
    fence, epoch, head, waiting_on, used_at, end_reason, choices, temporary = row
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
        is_temporary=bool(temporary),
    )
