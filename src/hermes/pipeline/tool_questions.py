"""A tool asks the person: the question goes to the chat, the turn waits, the answer passes beside it.

The row is written before anybody is shown the question, and has the answer before the tool hears of
it. So a call that is repeated after a crash finds what its first attempt asked: the answer if there
is one, else the open question, which is not posted again.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol

import msgspec
import structlog

from hermes.errors import StorageFull, StoreError
from hermes.message.outcome import DeliveryState
from hermes.message.session_key import depth_of, root_lane, root_turn
from hermes.pipeline.approval_waits import AskServices
from hermes.pipeline.choice_offers import (
    OfferedQuestion,
    OfferServices,
    OfferTerms,
    Option,
    offer_answers,
)
from hermes.pipeline.needs import (
    HasClock,
    HasDigest,
    HasWatch,
    StageContext,
    TimelineWriter,
    ToolJournal,
)
from hermes.pipeline.questions import Answer, OpenQuestion, Questions, asker_of
from hermes.pipeline.targets import target_of
from hermes.pipeline.turn import Turn
from hermes.ports.adapter import Adapter
from hermes.ports.approvals import (
    Approval,
    ApprovalState,
    AskedQuestion,
    NewApproval,
    SavedAnswer,
)
from hermes.ports.outbox import NewDelivery
from hermes.ports.tool import Question, Tool
from hermes.ports.turns import TurnResult
from hermes.ports.upward import Progress, Watch
from hermes.texts.say import say, words
from hermes.tools.approvers import ELSEWHERE
from hermes.tools.mcp.interview import DECLINED, PASSED_ON, InterviewStep, secret_in

CLOSED = words("That question is closed by now. Please send this again if it still matters.")
_IN_WORDS = words("Please answer the question in words, or decline with /deny.")
_encode = msgspec.json.Encoder().encode
_decode_question = msgspec.json.Decoder(Question).decode
_decode_answer = msgspec.json.Decoder(SavedAnswer).decode
_log = structlog.get_logger(__name__)


class QuestionRecords(Protocol):
    """Keeps answers on the rows of questions, closes the rows, and knows who was ever asked."""

    async def answer(
        self, question_id: str, body: bytes, *, state: ApprovalState, by: str, at: float
    ) -> bool: ...
    async def answered_by(self, message_id: str) -> ApprovalState | None: ...
    async def questions_of(self, message_id: str) -> tuple[AskedQuestion, ...]: ...
    async def left_open(self) -> tuple[AskedQuestion, ...]: ...

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


class ReopenServices(HasClock, HasWatch, Protocol):
    """What a start needs that takes up questions again: their rows, and who asked."""

    @property
    def store(self) -> QuestionStore: ...
    @property
    def questions(self) -> Questions: ...
    @property
    def tools(self) -> Mapping[str, Tool]: ...
    @property
    def adapters(self) -> Mapping[str, Adapter]: ...


_ToolContext = StageContext[QuestionServices, ToolJournal]
_AnswerContext = StageContext[QuestionServices, TimelineWriter]


async def ask_person(
    turn: Turn, ctx: _ToolContext, question: Question, *, tool: str, ordinal: int
) -> Answer:
    """Put a question to the person of a turn; None when they decline or cannot be asked.

    One that admins decide needs nobody in the chat.
    """
    secret = secret_in(question.schema)
    reason = None if question.deciders == "admins" else _why_not(turn, ctx)
    if secret is not None:
        reason = f"it asks for a credential ({secret})"
    if reason is not None:
        _log.warning("question_declined", message_id=turn.id, tool=tool, reason=reason)
        ctx.journal.note("question", tool=tool, state="declined", reason=reason)
        return None
    questions, lane = ctx.services.questions, root_lane(turn.lane)
    # Looked up before the rows are read: an answer that comes meanwhile settles it.
    left = questions.at(lane)
    before = await _asked_before(turn, ctx, question, tool=tool, ordinal=ordinal)
    if before is not None:
        return await _resume(turn, ctx, before, left=left)
    if question.deciders != "person":
        await _close_left(turn, ctx, ordinal)
    async with questions.place(lane):
        if questions.is_closed:
            return None
        row = _row(turn, ctx, question, tool=tool, ordinal=ordinal)
        opened = _opened(row, question, lane=turn.lane, watch=ctx.services.watch)
        await _post(turn, ctx, opened, row=row)
        return await _wait(turn, ctx, opened, within_s=question.within_s)


async def _asked_before(
    turn: Turn, ctx: _ToolContext, question: Question, *, tool: str, ordinal: int
) -> AskedQuestion | None:
    """Return the same question of an earlier attempt at a call, if it waits or was answered."""
    attempts = ctx.journal.attempts(ordinal)
    if not attempts:
        return None
    wanted = (tool, _hash(question, ctx))
    for asked in await ctx.services.store.approvals.questions_of(turn.id):
        row = asked.row
        if row.ordinal not in attempts or (row.tool, row.arguments_hash) != wanted:
            continue
        if row.id not in ctx.journal.spent and _is_usable(asked):
            ctx.journal.spent.add(row.id)
            return asked
    return None


async def _close_left(turn: Turn, ctx: _ToolContext, ordinal: int) -> None:
    """Close what an earlier attempt of an adapter asked last: now it wants something else."""
    store, attempts = ctx.services.store, ctx.journal.attempts(ordinal)
    for asked in await store.approvals.questions_of(turn.id) if attempts else ():
        row = asked.row
        if row.ordinal in attempts and row.state == "waiting":
            now = ctx.services.clock.now()
            await store.approvals.settle(row.id, "expired", by="restart", at=now)
            opened = ctx.services.questions.find(row.id)
            if opened is not None:
                ctx.services.questions.drop(opened)


def _is_usable(asked: AskedQuestion) -> bool:
    """Return whether a question still waits, or its end was the person's doing or their time was up."""
    row = asked.row
    if row.state == "waiting":
        return _question_of(asked) is not None
    if row.state == "approved":
        return asked.answer is not None
    # A turn that is stopped denies its question itself; it asks again if it goes on.
    return row.decided_by != ("restart" if row.state == "expired" else row.message_id)


async def _resume(
    turn: Turn, ctx: _ToolContext, before: AskedQuestion, *, left: OpenQuestion | None
) -> Answer:
    """Return the answer to a question of an earlier attempt, or go on waiting for it."""
    row, questions = before.row, ctx.services.questions
    ctx.journal.note("question", id=row.id, tool=row.tool, state="resumed")
    if row.state != "waiting":
        return None if before.answer is None else _decode_answer(before.answer).answer
    opened = left if left is not None and left.id == row.id else None
    opened = opened or _reopened(before, ctx.services.watch)
    await ctx.journal.adopt(row.id)
    async with questions.place(opened.lane, question_id=row.id):
        if questions.is_closed:
            return None
        left_s = row.expires_at - ctx.services.clock.now()
        return await _wait(turn, ctx, opened, within_s=left_s)


async def reopen_questions(services: ReopenServices) -> None:
    """Take answers again to what tools had asked before a restart; before any message is accepted."""
    now = services.clock.now()
    for asked in await services.store.approvals.left_open():
        if _question_of(asked) is not None:
            opened = _reopened(asked, services.watch)
            services.questions.reopen(opened, left_s=asked.row.expires_at - now)


async def close_unrepeated(services: ReopenServices) -> None:
    """Close what tools had asked before a restart whose calls are not repeated; all tools are known."""
    for asked in await services.store.approvals.left_open():
        row = asked.row
        if not _is_called_again(row.tool, services) or _question_of(asked) is None:
            now = services.clock.now()
            await services.store.approvals.settle(row.id, "expired", by="restart", at=now)
            services.questions.forget(row.message_id)


def _is_called_again(name: str, services: ReopenServices) -> bool:
    """Return whether a tool is repeated after a crash, as adapters always are."""
    tool = services.tools.get(name)
    return name in services.adapters if tool is None else tool.traits.idempotent


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
        id=ctx.services.make_id("q"),
        message_id=turn.id,
        ordinal=ordinal,
        tool=tool,
        arguments_hash=_hash(question, ctx),
        requester=asker_of(turn.event),
        chat_type=ELSEWHERE if question.deciders == "admins" else turn.event.source.chat_type,
        asked_at=now,
        expires_at=now + question.within_s,
        question=_encode(question),
    )


def _hash(question: Question, ctx: _ToolContext) -> bytes:
    return ctx.services.store.digest(_encode((question.text, question.schema)))


def _opened(
    row: NewApproval | Approval, question: Question, *, lane: str, watch: Watch
) -> OpenQuestion:
    def tell(text: str) -> None:
        kind = "question" if text else "settled"
        progress = Progress(kind=kind, text=text, result=TurnResult(text=text, question=row.id))
        watch.publish(root_turn(lane, row.message_id), progress)

    return OpenQuestion(
        row.id,
        question,
        message_id=row.message_id,
        lane=root_lane(lane),
        who=row.requester,
        is_private=row.chat_type == "dm",
        may_wait=question.deciders != "person",
        tell=tell,
    )


def _question_of(asked: AskedQuestion) -> Question | None:
    """Return what was asked; None if it was not kept, or by a version that wrote it otherwise."""
    if asked.question is None:
        return None
    try:
        return _decode_question(asked.question)
    except msgspec.DecodeError as error:
        _log.error("question_not_readable", question=asked.row.id, problem=str(error))
        return None


def _reopened(asked: AskedQuestion, watch: Watch) -> OpenQuestion:
    question = _question_of(asked)
    assert question is not None
    opened = _opened(asked.row, question, lane=asked.row.lane, watch=watch)
    if asked.answer is not None:
        opened.heard = _decode_answer(asked.answer).heard
    return opened


async def _post(turn: Turn, ctx: _ToolContext, opened: OpenQuestion, *, row: NewApproval) -> None:
    services, platform = ctx.services, turn.event.source.platform
    target = target_of(turn.event)
    if turn.event.internal:
        # A subagent's message is known to no platform.
        target = msgspec.structs.replace(target, reply_to=None)
    shown = asked_with_buttons(opened, services, platform=platform)
    delivery = NewDelivery(
        id="o_" + row.id.partition("_")[2],
        target=target,
        parts=shown.parts,
        state=services.first_state(platform),
        purpose="notice",
        offer=shown.offer,
    )
    ctx.journal.note("question", id=row.id, tool=row.tool, state="asked")
    await ctx.journal.ask(turn, row, question=delivery)
    if delivery.state is DeliveryState.PENDING:
        services.wake_outbox(platform)


def asked_with_buttons(
    opened: OpenQuestion, services: OfferServices, *, platform: str
) -> OfferedQuestion:
    """Return what the person is asked now, with the answers that can be pressed."""
    terms = OfferTerms(
        platform=platform,
        lane=opened.lane,
        # What admins decide is pressed by whoever may.
        who="" if opened.question.deciders == "admins" else opened.who,
        valid_s=opened.question.within_s,
        subject=opened.id,
    )
    options = [Option(label, says) for label, says in opened.options]
    return offer_answers(opened.asking, options, terms=terms, services=services)


async def _wait(turn: Turn, ctx: _ToolContext, opened: OpenQuestion, *, within_s: float) -> Answer:
    """Wait for the answer; whatever else ends the waiting settles the row."""
    questions = ctx.services.questions
    questions.show(opened)
    try:
        async with asyncio.timeout(within_s):
            # Only dropping the question settles it, even if this wait is cancelled.
            return await asyncio.shield(opened.answered)
    except TimeoutError:
        questions.drop(opened)
        is_closed, opened.is_settled = await _close(turn, ctx, opened, state="expired"), True
        if not is_closed:
            # The answer was being written when the time was up, and the person was told so.
            return await _answer_of(turn, ctx, opened)
        ctx.journal.note("question", id=opened.id, state="expired")
        return None
    finally:
        questions.drop(opened)
        if not opened.is_settled and not questions.stays_open(opened):
            await _close(turn, ctx, opened, state="denied")


async def _close(
    turn: Turn, ctx: _ToolContext, opened: OpenQuestion, *, state: ApprovalState
) -> bool:
    """Settle the row of a question that nobody answered; False if somebody did.

    A row that cannot be written now closes at the next start.
    """
    now = ctx.services.clock.now()
    try:
        return await ctx.services.store.approvals.settle(opened.id, state, by=turn.id, at=now)
    except (StoreError, StorageFull) as error:
        _log.warning("question_not_closed", message_id=turn.id, problem=str(error))
        return True


async def _answer_of(turn: Turn, ctx: _ToolContext, opened: OpenQuestion) -> Answer:
    """Return the answer that is kept of a question that was settled."""
    for asked in await ctx.services.store.approvals.questions_of(turn.id):
        if asked.row.id == opened.id and asked.answer is not None:
            return _decode_answer(asked.answer).answer
    return None


class AnswerReceipt(msgspec.Struct, frozen=True):
    """What the person is told for their answer, whether it was theirs to give, and what is asked next."""

    text: str
    is_refused: bool = False
    asks: OpenQuestion | None = None


async def was_asked(turn: Turn, ctx: _AnswerContext, lane: str) -> bool:
    """Tell whether a message beside a lane is the answer to a question, if only to a closed one."""
    services = ctx.services
    opened = services.questions.at(lane)
    if opened is not None:
        # A yes to what admins decide is an `/approve`.
        return opened.question.deciders != "admins"
    return await services.store.approvals.was_asked(asker_of(turn.event))


async def take_answer(turn: Turn, ctx: _AnswerContext, lane: str) -> AnswerReceipt:
    """Read a message as the answer to the question that waits on a lane."""
    settled = await ctx.services.store.approvals.answered_by(turn.id)
    if settled is not None:
        # A crash came before the person was told.
        return AnswerReceipt(PASSED_ON if settled == "approved" else DECLINED)
    opened = ctx.services.questions.at(lane)
    if opened is None or opened.who != asker_of(turn.event):
        return AnswerReceipt(say(CLOSED))
    return await _hear(turn, ctx, opened, text=turn.event.text)


async def settle_question(
    turn: Turn, ctx: _AnswerContext, opened: OpenQuestion, *, is_yes: bool
) -> AnswerReceipt:
    """Take `/approve` or `/deny` of the person who was asked as the answer to a question."""
    if is_yes and not opened.is_yes_or_no:
        return AnswerReceipt(say(_IN_WORDS))
    return await _hear(turn, ctx, opened, text="yes" if is_yes else "no thanks")


async def _hear(
    turn: Turn, ctx: _AnswerContext, opened: OpenQuestion, *, text: str
) -> AnswerReceipt:
    """Keep what a person said to a question; if that is the whole answer, the tool goes on."""
    if turn.id in dict(opened.heard):
        # Said before a crash, and kept.
        return AnswerReceipt(opened.asking, asks=opened)
    step, heard = opened.hear(text), (*opened.heard, (turn.id, text))
    saved = SavedAnswer(answer=step.answer) if step.is_over else SavedAnswer(heard=heard)
    if not await ctx.services.store.approvals.answer(
        opened.id, _encode(saved), state=_state(step), by=turn.id, at=ctx.services.clock.now()
    ):
        ctx.services.questions.drop(opened)
        return AnswerReceipt(say(CLOSED))
    if not step.is_over:
        opened.heard = heard
        opened.tell(step.say)
        return AnswerReceipt(step.say, asks=opened)
    ctx.journal.note("question", id=opened.id, state=_state(step))
    opened.is_settled = True
    ctx.services.questions.drop(opened, step.answer)
    return AnswerReceipt(step.say)


def _state(step: InterviewStep) -> ApprovalState:
    if not step.is_over:
        return "waiting"
    return "denied" if step.answer is None else "approved"
