"""Turns that wait for a person: the question, the parked lane and the decision."""

import structlog

from hermes.errors import GuardFailed, NotFound, StoreError
from hermes.message.chat import ChatMessage
from hermes.ports.approvals import (
    Approval,
    ApprovalState,
    AskedQuestion,
    NewApproval,
    WaitingApproval,
)
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease, StepWrite, TimelineEvent
from hermes.store.sql.commit import NOTHING_USED, release_lane, write_delivery
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.offers import write_offer
from hermes.store.sql.queries import load
from hermes.store.sql.turns import SqlTurns
from hermes.store.sql.tx import Reads, Row, Tx

_SQL = load("approvals")
_TURNS = load("turns")
_OFFERS = load("offers")
_log = structlog.get_logger(__name__)
_UPKEEP = load("upkeep")


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
        """Write the question of a tool that waits for its answer; the turn keeps running."""

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
        asked = None
        if approval.question is not None:
            asked = await self._engine.sealer.put(tx, write.person_id, approval.question)
        self._ask(tx, lease, approval, question=asked)
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
            await write_offer(
                tx,
                self._engine,
                question.offer,
                delivery=question.id,
                message_id=write.message_id,
                person_id=write.person_id,
                platform=question.target.platform,
            )

    def _ask(self, tx: Tx, lease: Lease, approval: NewApproval, *, question: int | None) -> None:
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
            question,
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

    async def answer(
        self, question_id: str, body: bytes, *, state: ApprovalState, by: str, at: float
    ) -> bool:
        """Keep what a person has answered; settle the question unless `state` is waiting."""

        async def unit(tx: Tx) -> bool:
            row = await tx.locked(_SQL["open_question"], question_id, at)
            if row is None:
                return False
            person_id, before, message_id = row
            kept = await self._engine.sealer.put(tx, person_id, body)
            tx.put(_SQL["answer"], question_id, kept)
            if before is not None:
                tx.put(_UPKEEP["drop_body"], before)
            tx.put(_OFFERS["supersede"], message_id, question_id, by)
            if state != "waiting":
                tx.put(_SQL["decide"], question_id, state, by, at)
            return True

        return await self._engine.writer.run("answer_question", unit)

    async def answered_by(self, message_id: str) -> ApprovalState | None:
        """Return how a message has settled the question of a tool, if it has."""
        row = await self._engine.reads.row(_SQL["answered_by"], message_id)
        return None if row is None else row[0]

    async def questions_of(self, message_id: str) -> tuple[AskedQuestion, ...]:
        """Return what the tools of a message have asked, the oldest first."""
        return await self._questions(
            await self._engine.reads.rows(_SQL["questions_of"], message_id)
        )

    async def left_open(self) -> tuple[AskedQuestion, ...]:
        """Return the questions that still wait and whose node is gone."""
        return await self._questions(await self._engine.reads.rows(_SQL["left_open"]))

    async def _questions(self, rows: list[Row]) -> tuple[AskedQuestion, ...]:
        found = []
        for (question_id,) in rows:
            row = await self.get(str(question_id))
            bodies = await self._engine.reads.row(_SQL["bodies"], question_id)
            if row is not None and bodies is not None:
                owner, *kept = bodies
                texts = [await self._body(body, owner=owner) for body in kept]
                found.append(AskedQuestion(row, *texts))
        return tuple(found)

    async def _body(self, body: int | None, *, owner: str) -> bytes | None:
        """Return a body; one that cannot be decrypted must not keep a gateway from starting."""
        if body is None:
            return None
        try:
            return await self._engine.sealer.get(self._engine.reads, body, owner=owner)
        except StoreError as error:
            _log.error("body_does_not_open", body=body, problem=str(error))
            return None

    async def adopt(self, lease: Lease, question_id: str) -> None:
        """Take over a question for a tool that runs again."""

        async def unit(tx: Tx) -> None:
            self._engine.lock_lane(tx, lease)
            tx.put(_SQL["adopt"], question_id, lease.owner)

        await self._engine.writer.run("adopt_question", unit)

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

    async def question(self, approval_id: str) -> bytes | None:
        """Return what was asked, if it was kept."""
        row = await self._engine.reads.row(_SQL["bodies"], approval_id)
        return None if row is None else await self._body(row[1], owner=row[0])

    async def untold(self, lane: str, *, event: TimelineEvent) -> tuple[str, ...]:
        """Return the messages that wait on a lane and whose timeline lacks an event."""
        told = (event.kind, encode(event.data).decode())
        return tuple(
            [str(row[0]) for row in await self._engine.reads.rows(_SQL["untold"], lane, *told)]
        )

    async def waiting_around(self, lane: str) -> tuple[Approval, ...]:
        """Return what waits on a lane or below it, in background tasks and subagents."""
        rows = await self._engine.reads.rows(_SQL["waiting_around"], lane)
        found = [await self.get(str(row[0])) for row in rows]
        return tuple(approval for approval in found if approval is not None)

    async def open(self, now: float, *, limit: int) -> tuple[WaitingApproval, ...]:
        """Return what waits in any conversation and is not overdue, the oldest first."""
        rows = await self._engine.reads.rows(_SQL["open"], now, limit)
        found = [(await self.get(str(row[0])), row) for row in rows]
        return tuple(WaitingApproval(one, row[1], row[2]) for one, row in found if one is not None)

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
