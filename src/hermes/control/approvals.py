"""Tool calls that wait for approval, as operators see and decide them.

The person decides in their chat with `/approve` and `/deny`; an operator may decide all of them here,
and what a running program wants to be allowed. Other questions of running tools are for the person to
answer, and only listed.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec
import structlog

from hermes.errors import BadRequest, Conflict, GuardFailed, NotFound
from hermes.message.short_ids import find_short
from hermes.ports.approvals import (
    NO,
    YES,
    Approval,
    ApprovalState,
    KeptQuestion,
    WaitingApproval,
    is_question,
    read_question,
)
from hermes.ports.clock import Clock
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store

_log = structlog.get_logger(__name__)
_MOST_LISTED = 1_000


class TellTool(Protocol):
    """Lets the tool go on that asks a question, if it runs here."""

    def __call__(self, question_id: str, /, *, is_yes: bool) -> None: ...


class WaitingTurns(Protocol):
    """The turns that wait here: parked ones by their lane, and those whose tool asks."""

    @property
    def wake_lane(self) -> Callable[[str], None]: ...
    @property
    def tell_tool(self) -> TellTool: ...


def tell_nobody(_question_id: str, *, is_yes: bool) -> None:
    """Do nothing: without a gateway no tool runs, and one that asks again finds the answer."""


class ApprovalsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many approvals to list at most."""

    limit: WholeNumber = 100


class ApprovalOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A decision about one approval, by its id, or its beginning or end."""

    id: str
    by: str = ""


class ApprovalLine(msgspec.Struct, frozen=True, kw_only=True):
    """What waits: the tool, who asked for it (`platform:user_id`), and until when.

    `question` is what the person was asked, with the tool's arguments; None if it was not kept.
    `is_question` marks a tool's own question that only the person answers.
    """

    id: str
    tool: str
    user: str
    person_id: str
    message_id: str
    chat_type: str
    asked_at: float
    expires_at: float
    question: str | None
    is_question: bool = False


class ApprovalsReport(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for approval, the oldest first."""

    approvals: tuple[ApprovalLine, ...] = ()


class ApprovalReport(msgspec.Struct, frozen=True, kw_only=True):
    """An approval that was decided."""

    id: str
    tool: str
    person_id: str
    message_id: str
    state: ApprovalState


class ApprovalOperations:
    """Where operators' orders about approvals arrive; `turns` go on when they are decided."""

    def __init__(self, store: Store, turns: WaitingTurns, *, clock: Clock) -> None:
        self._store = store
        self._turns = turns
        self._clock = clock

    async def list(self, ask: ApprovalsAsk) -> ApprovalsReport:
        """Return what waits."""
        if not 1 <= ask.limit <= _MOST_LISTED:
            raise BadRequest(f"The limit is {ask.limit}: expected 1 to {_MOST_LISTED:,}.")
        found = await self._open(ask.limit)
        return ApprovalsReport(approvals=tuple([await self._line(one) for one in found]))

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of what waits and can be decided here."""
        found = [one.row.id for one in await self._open(_MOST_LISTED)]
        return tuple([one for one in found if not await self._is_for_its_person(one)])

    async def approve(self, order: ApprovalOrder) -> ApprovalReport:
        """Let a tool call run."""
        return await self._decide(order, "approved")

    async def deny(self, order: ApprovalOrder) -> ApprovalReport:
        """Refuse a tool call; the model hears so and goes on."""
        return await self._decide(order, "denied")

    async def _open(self, limit: int) -> tuple[WaitingApproval, ...]:
        return await self._store.approvals.open(self._clock.now(), limit=limit)

    async def _decide(self, order: ApprovalOrder, state: ApprovalState) -> ApprovalReport:
        found = await self._find(order.id)
        person_id = await self._person_id(found)
        by = f"operator {order.by}".strip()
        settle = self._answer if is_question(found.id) else self._settle
        await settle(found, state, by=by)
        _log.info("approval_decided", approval_id=found.id, state=state, by=order.by)
        return ApprovalReport(
            id=found.id,
            tool=found.tool,
            person_id=person_id,
            message_id=found.message_id,
            state=state,
        )

    async def _settle(self, found: Approval, state: ApprovalState, *, by: str) -> None:
        """Decide what a parked turn waits for."""
        now = self._clock.now()
        try:
            await self._store.approvals.decide(found.id, state, by=by, at=now)
        except GuardFailed as error:
            raise Conflict(f"{error}. `hermes approvals` lists what waits.") from error
        self._turns.wake_lane(found.lane)

    async def _answer(self, found: Approval, state: ApprovalState, *, by: str) -> None:
        """Decide what a running program wants to be allowed; the answer is on the disk before it hears."""
        is_yes = state == "approved"
        if not await self._store.approvals.answer(
            found.id, YES if is_yes else NO, state=state, by=by, at=self._clock.now()
        ):
            raise Conflict(f"{found.id} waits no longer. `hermes approvals` lists what waits.")
        self._turns.tell_tool(found.id, is_yes=is_yes)

    async def _find(self, wanted: str) -> Approval:
        """Return the approval that waits under an id, or a part of one."""
        found = await self._store.approvals.get(wanted) or await self._short(wanted)
        if found is None:
            raise _unknown(wanted)
        if found.state != "waiting" or found.expires_at <= self._clock.now():
            state = "overdue" if found.state == "waiting" else found.state
            raise Conflict(f"{found.id} is {state} already.")
        if await self._is_for_its_person(found.id):
            raise Conflict(
                f"{found.id} is a question of the tool {found.tool}: only the person "
                "who was asked can answer it, in their chat."
            )
        return found

    async def _short(self, part: str) -> Approval | None:
        return find_short(part, {one.row.id: one.row for one in await self._open(_MOST_LISTED)})

    async def _person_id(self, approval: Approval) -> str:
        record = await self._store.inbox.get(approval.message_id)
        if record is None:
            raise _unknown(approval.id)
        return record.person_id

    async def _line(self, found: WaitingApproval) -> ApprovalLine:
        row = found.row
        asked = await self._question(row.id)
        return ApprovalLine(
            id=row.id,
            tool=row.tool,
            user=row.requester,
            person_id=found.person_id,
            message_id=row.message_id,
            chat_type=row.chat_type,
            asked_at=found.asked_at,
            expires_at=row.expires_at,
            question=None if asked is None else asked.text,
            is_question=await self._is_for_its_person(row.id),
        )

    async def _is_for_its_person(self, approval_id: str) -> bool:
        """Return whether it is a question that nobody else may answer."""
        if not is_question(approval_id):
            return False
        asked = await self._question(approval_id)
        return asked is None or asked.deciders == "person"

    async def _question(self, approval_id: str) -> KeptQuestion | None:
        """Return what was asked; None if it was not kept, or cannot be read."""
        kept = await self._store.approvals.question(approval_id)
        try:
            return None if kept is None else read_question(kept)
        except msgspec.DecodeError as error:
            _log.error("question_not_readable", approval=approval_id, problem=str(error))
            return None


def _unknown(wanted: str) -> NotFound:
    return NotFound(f"Nothing waits under {wanted[:40]!r}. `hermes approvals` lists what does.")
