"""A tool asks the person: the question goes to the chat, the turn waits, the answer passes beside it.

The row is written before anybody is shown the question, and settled before the tool hears of the
answer. The tool waits inside its running call, so a crash ends it as it ends any tool.
"""

import asyncio
from typing import Protocol

import msgspec
import structlog

from hermes.errors import StorageFull, StoreError
from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.message.session_key import depth_of, root_lane, root_turn
from hermes.pipeline.approval_waits import AskServices
from hermes.pipeline.needs import HasDigest, StageContext, TimelineWriter, ToolJournal
from hermes.pipeline.questions import Answer, OpenQuestion, Questions, asker_of
from hermes.pipeline.targets import target_of
from hermes.pipeline.turn import Turn
from hermes.ports.approvals import ApprovalState, NewApproval
from hermes.ports.outbox import NewDelivery
from hermes.ports.tool import Question
from hermes.ports.turns import TurnResult
from hermes.ports.upward import Progress
from hermes.tools.mcp.interview import Interview, InterviewStep, secret_in

_CLOSED = "That question is closed by now. Please send this again if it still matters."
_OTHERS = "Only the person who was asked may answer this."
_IN_WORDS = "Please answer the question in words, or decline with /deny."
_log = structlog.get_logger(__name__)


class QuestionRecords(Protocol):
    """Closes the row of a question, and knows who was ever asked."""

    async def settle(
        self, approval_id: str, state: ApprovalState, *, by: str, at: float
    ) -> bool: ...
    async def was_asked(self, who: str) -> bool: ...


class QuestionStore(HasDigest, Protocol):
    """A store that knows questions."""

    @property
    def approvals(self) -> QuestionRecords: ...


class QuestionServices(AskServices, Protocol):
    """What a tool needs that asks the person: the open questions, and their rows."""

    @property
    def store(self) -> QuestionStore: ...
    @property
    def questions(self) -> Questions: ...


_ToolContext = StageContext[QuestionServices, ToolJournal]
_AnswerContext = StageContext[QuestionServices, TimelineWriter]


async def ask_person(
    turn: Turn, ctx: _ToolContext, question: Question, *, tool: str, ordinal: int
) -> Answer:
    """Put a question to the person of a turn; None when they decline or cannot be asked."""
    secret = secret_in(question.schema)
    reason = _why_not(turn, ctx) if secret is None else f"it asks for a credential ({secret})"
    if reason is not None:
        _log.warning("question_declined", message_id=turn.id, tool=tool, reason=reason)
        ctx.journal.note("question", tool=tool, state="declined", reason=reason)
        return None
    lane = root_lane(turn.lane)
    async with ctx.services.questions.place(lane):
        if ctx.services.questions.is_closed:
            return None
        opened = OpenQuestion(
            ctx.services.make_id("q"),
            asker_of(turn.event),
            Interview(question.text, question.schema),
        )
        opened.say = lambda text: _tell(turn, ctx, opened, text=text)
        await _show(turn, ctx, opened, row=_row(turn, ctx, question, tool=tool, ordinal=ordinal))
        async with ctx.services.questions.shown(lane, opened):
            return await _wait(turn, ctx, opened, within_s=question.within_s)


def _why_not(turn: Turn, ctx: _ToolContext) -> str | None:
    """Return why no person can be asked, or None."""
    event = turn.event
    if not ctx.services.questions.can_answer(event.source.platform):
        return f"nobody can be asked over {event.source.platform}"
    if event.internal and not depth_of(turn.lane):
        return "no person wrote the message"
    return None


def _row(
    turn: Turn, ctx: _ToolContext, question: Question, *, tool: str, ordinal: int
) -> NewApproval:
    now = ctx.services.clock.now()
    return NewApproval(
        id="",
        message_id=turn.id,
        ordinal=ordinal,
        tool=tool,
        arguments_hash=ctx.services.store.digest(question.text.encode()),
        requester=asker_of(turn.event),
        chat_type=turn.event.source.chat_type,
        asked_at=now,
        expires_at=now + question.within_s,
    )


async def _show(turn: Turn, ctx: _ToolContext, opened: OpenQuestion, *, row: NewApproval) -> None:
    services, platform = ctx.services, turn.event.source.platform
    text = opened.interview.opening
    target = target_of(turn.event)
    if turn.event.internal:
        # A subagent's message is known to no platform.
        target = msgspec.structs.replace(target, reply_to=None)
    delivery = NewDelivery(
        id="o_" + opened.id.partition("_")[2],
        target=target,
        parts=(TextPart(text),),
        state=services.first_state(platform),
        purpose="notice",
    )
    ctx.journal.note("question", id=opened.id, tool=row.tool, state="asked")
    await ctx.journal.ask(turn, msgspec.structs.replace(row, id=opened.id), question=delivery)
    if delivery.state is DeliveryState.PENDING:
        services.wake_outbox(platform)
    _tell(turn, ctx, opened, text=text)


def _tell(turn: Turn, ctx: _ToolContext, opened: OpenQuestion, *, text: str) -> None:
    """Tell whoever watches of an open question; no text means that it is settled."""
    kind = "question" if text else "settled"
    progress = Progress(kind=kind, text=text, result=TurnResult(text=text, question=opened.id))
    ctx.services.watch.publish(root_turn(turn.lane, turn.id), progress)


async def _wait(turn: Turn, ctx: _ToolContext, opened: OpenQuestion, *, within_s: float) -> Answer:
    """Wait for the answer; whatever else ends the waiting settles the row."""
    state: ApprovalState = "denied"
    try:
        async with asyncio.timeout(within_s):
            return await opened.answered
    except TimeoutError:
        state = "expired"
        ctx.journal.note("question", id=opened.id, state=state)
        return None
    finally:
        _tell(turn, ctx, opened, text="")
        if not opened.is_settled:
            await _close(turn, ctx, opened, state=state)


async def _close(
    turn: Turn, ctx: _ToolContext, opened: OpenQuestion, *, state: ApprovalState
) -> None:
    """Settle the row of a question that nobody answered; one that is left over closes at a start."""
    now = ctx.services.clock.now()
    try:
        await ctx.services.store.approvals.settle(opened.id, state, by=turn.id, at=now)
    except (StoreError, StorageFull) as error:
        _log.warning("question_not_closed", message_id=turn.id, problem=str(error))


class AnswerReceipt(msgspec.Struct, frozen=True):
    """What the person is told for their answer, and whether it was theirs to give."""

    text: str
    is_refused: bool = False


async def was_asked(turn: Turn, ctx: _AnswerContext, lane: str) -> bool:
    """Tell whether a message beside a lane is the answer to a question, if only to a closed one."""
    services = ctx.services
    if services.questions.at(lane) is not None:
        return True
    return await services.store.approvals.was_asked(asker_of(turn.event))


async def take_answer(turn: Turn, ctx: _AnswerContext, lane: str) -> AnswerReceipt:
    """Read a message as the answer to the question that waits on a lane."""
    opened = ctx.services.questions.at(lane)
    if opened is None or opened.who != asker_of(turn.event):
        return AnswerReceipt(_CLOSED)
    return await _heard(turn, ctx, opened, heard=opened.interview.hear(turn.event.text))


async def settle_question(
    turn: Turn, ctx: _AnswerContext, opened: OpenQuestion, *, is_yes: bool
) -> AnswerReceipt:
    """Take `/approve` or `/deny` as the answer to a question."""
    if opened.who != asker_of(turn.event):
        return AnswerReceipt(_OTHERS, is_refused=True)
    if is_yes and not opened.interview.is_yes_or_no:
        return AnswerReceipt(_IN_WORDS)
    said = "yes" if is_yes else "no thanks"
    return await _heard(turn, ctx, opened, heard=opened.interview.hear(said))


async def _heard(
    turn: Turn, ctx: _AnswerContext, opened: OpenQuestion, *, heard: InterviewStep
) -> AnswerReceipt:
    if not heard.is_over:
        opened.say(heard.say)
        return AnswerReceipt(heard.say)
    state: ApprovalState = "denied" if heard.answer is None else "approved"
    now = ctx.services.clock.now()
    if not await ctx.services.store.approvals.settle(opened.id, state, by=turn.id, at=now):
        return AnswerReceipt(_CLOSED)
    ctx.journal.note("question", id=opened.id, state=state)
    opened.is_settled = True
    opened.settle(heard.answer)
    return AnswerReceipt(heard.say)
