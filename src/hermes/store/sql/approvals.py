"""Turns that wait for a person: the question, the parked lane and the decision."""

from hermes.errors import GuardFailed, NotFound
from hermes.message.chat import ChatMessage
from hermes.ports.approvals import Approval, ApprovalState, NewApproval
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease, StepWrite
from hermes.store.sql.commit import NOTHING_USED, release_lane, write_delivery
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.queries import load
from hermes.store.sql.turns import SqlTurns
from hermes.store.sql.tx import Reads, Tx

_SQL = load("approvals")
_TURNS = load("turns")


class SqlApprovals:
    """Implements `ports.approvals.ApprovalStore`."""

    def __init__(self, engine: Engine, *, turns: SqlTurns) -> None:
        self._engine = engine
        self._turns = turns

    async def park(
        self,
        lease: Lease,
        approval: NewApproval,
        *,
        question: NewDelivery | None,
        write: StepWrite,
    ) -> None:
        """Write the question, release the lease and keep the credit hold."""

        async def unit(tx: Tx) -> None:
            await self._put(tx, lease, approval, question=question, write=write)
            self._release(tx, lease, approval)

        await self._engine.writer.run("park", unit)

    async def ask(
        self,
        lease: Lease,
        approval: NewApproval,
        *,
        question: NewDelivery | None,
        write: StepWrite,
    ) -> None:
        """Write the question of a tool that waits for its answer; the turn keeps running.

        Its message is running, not parked: after a crash this identifies such a row.
        """

        async def unit(tx: Tx) -> None:
            await self._put(tx, lease, approval, question=question, write=write)

        await self._engine.writer.run("ask", unit)

    async def _put(
        self,
        tx: Tx,
        lease: Lease,
        approval: NewApproval,
        *,
        question: NewDelivery | None,
        write: StepWrite,
    ) -> None:
        await self._turns.write_steps(tx, lease, write)
        self._ask(tx, lease, approval)
        if question is not None:
            parts = ChatMessage("assistant", question.parts or ())
            body = await self._engine.sealer.put(tx, write.person_id, encode(parts))
            write_delivery(
                tx,
                question,
                message_id=write.message_id,
                person_id=write.person_id,
                body=body,
                at=approval.asked_at,
            )

    def _ask(self, tx: Tx, lease: Lease, approval: NewApproval) -> None:
        tx.put(
            _SQL["ask"],
            approval.id,
            approval.message_id,
            lease.lane,
            approval.ordinal,
            approval.tool,
            approval.arguments_hash,
            approval.requester,
            approval.chat_type,
            approval.asked_at,
            approval.expires_at,
            lease.owner,
        )

    def _release(self, tx: Tx, lease: Lease, approval: NewApproval) -> None:
        tx.must(
            _TURNS["park_message"],
            approval.message_id,
            error=GuardFailed(f"message {approval.message_id} is not running"),
        )
        release_lane(
            tx,
            lease,
            moved=0,
            at=approval.asked_at,
            waiting_on=approval.id,
            used=NOTHING_USED,
        )

    async def decide(
        self, approval_id: str, state: ApprovalState, *, by: str, at: float
    ) -> Approval:
        """Decide a waiting approval; raises `GuardFailed` if it no longer waits."""

        async def unit(tx: Tx) -> Approval:
            changed = await tx.changed(_SQL["decide"], approval_id, state, by, at)
            approval = await _get(tx, approval_id)
            if approval is None:
                raise NotFound(f"there is no approval {approval_id!r}; check the id")
            if changed != 1:
                state_now = "overdue" if approval.state == "waiting" else approval.state
                raise GuardFailed(f"approval {approval_id} is already {state_now}")
            tx.put(_SQL["unblock_lane"], approval_id, approval.lane)
            return approval

        return await self._engine.writer.run("decide", unit)

    async def settle(self, approval_id: str, state: ApprovalState, *, by: str, at: float) -> bool:
        """Settle a question like `decide`; return whether it was still waiting."""
        try:
            await self.decide(approval_id, state, by=by, at=at)
        except (GuardFailed, NotFound):
            return False
        return True

    async def was_asked(self, who: str) -> bool:
        """Return whether a running tool ever asked somebody a question."""
        return await self._engine.reads.row(_SQL["was_asked"], who) is not None

    async def is_standing(self, what: str, who: str) -> bool:
        """Return whether somebody has said "always" to something."""
        return await self._engine.reads.row(_SQL["standing"], self._always(what, who)) is not None

    async def stand(self, what: str, who: str, *, is_standing: bool) -> None:
        """Store somebody's "always", or delete it."""
        key = self._always(what, who)

        async def unit(tx: Tx) -> None:
            tx.put(_SQL["stand" if is_standing else "forget_standing"], key)

        await self._engine.writer.run("stand", unit)

    def _always(self, what: str, who: str) -> str:
        return f"always:{what}:{self._engine.sealer.digest(who.encode()).hex()}"

    async def get(self, approval_id: str) -> Approval | None:
        """Return one approval."""
        return await _get(self._engine.reads, approval_id)

    async def waiting(self, lane: str) -> Approval | None:
        """Return the approval that a lane waits on."""
        row = await self._engine.reads.row(_SQL["waiting"], lane)
        return None if row is None else await self.get(str(row[0]))

    async def waiting_around(self, lane: str) -> tuple[Approval, ...]:
        """Return what waits on a lane or below it, in background tasks and subagents."""
        rows = await self._engine.reads.rows(_SQL["waiting_around"], lane)
        found = [await self.get(str(row[0])) for row in rows]
        return tuple(approval for approval in found if approval is not None)

    async def overdue(self, now: float) -> tuple[str, ...]:
        """Return waiting approvals whose time is up."""
        rows = await self._engine.reads.rows(_SQL["overdue"], now)
        return tuple(str(row[0]) for row in rows)


async def _get(db: Reads, approval_id: str) -> Approval | None:
    row = await db.row(_SQL["get"], approval_id)
    if row is None:
        return None
    return Approval(
        id=row[0],
        message_id=row[1],
        lane=row[2],
        ordinal=row[3],
        tool=row[4],
        arguments_hash=row[5],
        requester=row[6],
        chat_type=row[7],
        expires_at=row[8],
        state=row[9],
        decided_by=row[10],
    )
