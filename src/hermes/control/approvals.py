"""Tool calls that wait for approval, as operators see and decide them.

The person decides in their chat with `/approve` and `/deny`; an operator may decide all of them here.
The question of a running tool is for the person to answer, and only listed.
"""

from collections.abc import Callable

import msgspec
import structlog

from hermes.errors import BadRequest, Conflict, GuardFailed, NotFound
from hermes.message.short_ids import find_short
from hermes.ports.approvals import Approval, ApprovalState, WaitingApproval
from hermes.ports.clock import Clock
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store

_log = structlog.get_logger(__name__)
_MOST_LISTED = 1_000
_APPROVAL = "a_"
WakeLane = Callable[[str], None]


class _Asked(msgspec.Struct, frozen=True):
    """What is kept of a question has its text, whether a turn asked it or a tool."""

    text: str


_decode_asked = msgspec.json.Decoder(_Asked).decode


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
    `is_question` marks a tool's own question, which only the person answers.
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
    """Where operators' orders about approvals arrive; `wake_lane` lets a turn go on."""

    def __init__(self, store: Store, *, wake_lane: WakeLane, clock: Clock) -> None:
        self._store = store
        self._wake_lane = wake_lane
        self._clock = clock

    async def list(self, ask: ApprovalsAsk) -> ApprovalsReport:
        """Return what waits."""
        if not 1 <= ask.limit <= _MOST_LISTED:
            raise BadRequest(f"The limit is {ask.limit}: expected 1 to {_MOST_LISTED:,}.")
        found = await self._open(ask.limit)
        return ApprovalsReport(approvals=tuple([await self._line(one) for one in found]))

    async def ids(self) -> tuple[str, ...]:
        """Return the ids of what waits and can be decided here."""
        found = await self._open(_MOST_LISTED)
        return tuple(one.row.id for one in found if one.row.id.startswith(_APPROVAL))

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
        try:
            approval = await self._store.approvals.decide(
                found.id, state, by=by, at=self._clock.now()
            )
        except GuardFailed as error:
            raise Conflict(f"{error}. `hermes approvals` lists what waits.") from error
        self._wake_lane(approval.lane)
        _log.info("approval_decided", approval_id=approval.id, state=state, by=order.by)
        return ApprovalReport(
            id=approval.id,
            tool=approval.tool,
            person_id=person_id,
            message_id=approval.message_id,
            state=state,
        )

    async def _find(self, wanted: str) -> Approval:
        """Return the approval that waits under an id, or a part of one."""
        found = await self._store.approvals.get(wanted) or await self._short(wanted)
        if found is None:
            raise _unknown(wanted)
        if found.state != "waiting" or found.expires_at <= self._clock.now():
            state = "overdue" if found.state == "waiting" else found.state
            raise Conflict(f"{found.id} is {state} already.")
        if not found.id.startswith(_APPROVAL):
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
        return ApprovalLine(
            id=row.id,
            tool=row.tool,
            user=row.requester,
            person_id=found.person_id,
            message_id=row.message_id,
            chat_type=row.chat_type,
            asked_at=found.asked_at,
            expires_at=row.expires_at,
            question=await self._question(row.id),
            is_question=not row.id.startswith(_APPROVAL),
        )

    async def _question(self, approval_id: str) -> str | None:
        """Return what the person was asked; None if it was not kept, or cannot be read."""
        kept = await self._store.approvals.question(approval_id)
        try:
            return None if kept is None else _decode_asked(kept).text
        except msgspec.DecodeError as error:
            _log.error("question_not_readable", approval=approval_id, problem=str(error))
            return None


def _unknown(wanted: str) -> NotFound:
    return NotFound(f"Nothing waits under {wanted[:40]!r}. `hermes approvals` lists what does.")
