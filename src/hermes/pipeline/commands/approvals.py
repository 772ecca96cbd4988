"""`/approve` and `/deny`: a person's word on what waits for it."""

import msgspec

from hermes.errors import Forbidden, GuardFailed, NotFound
from hermes.message.session_key import base_lane, depth_of, is_background
from hermes.pipeline.commands.effect import Effect, refused
from hermes.pipeline.questions import asker_of
from hermes.pipeline.services import TurnContext
from hermes.pipeline.tool_questions import (
    CLOSED,
    AnswerReceipt,
    asked_with_buttons,
    settle_question,
)
from hermes.pipeline.turn import Turn
from hermes.ports.approvals import NO, YES, Approval, ApprovalState, is_question, read_question
from hermes.ports.tool import Deciders
from hermes.texts.say import say
from hermes.tools.approvers import check_approver, check_decider


async def approve(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Let what waits go on."""
    return await _settle(turn, ctx, argument, is_yes=True)


async def deny(turn: Turn, ctx: TurnContext, argument: str) -> Effect:
    """Refuse the approval."""
    return await _settle(turn, ctx, argument, is_yes=False)


def effect_of(taken: AnswerReceipt, turn: Turn, ctx: TurnContext) -> Effect:
    """Return what becomes of an answer to a question; what is asked next has buttons, too."""
    if taken.is_refused:
        return refused(taken.text)
    if taken.asks is None:
        return Effect(text=taken.text)
    platform = turn.event.source.platform
    asks = asked_with_buttons(taken.asks, ctx.services, platform=platform)
    return Effect(text=taken.text, asks=asks)


def _choice(waiting: tuple[Approval, ...]) -> str:
    """Return what to say where a word could mean nothing, or several things."""
    if not waiting:
        return say("Nothing waits for your approval here.")
    lines = [f"- {one.id}: {one.tool}{_whose(one.lane)}" for one in waiting]
    return "\n".join(
        (say("Several things wait for your approval: answer /approve ID or /deny ID."), *lines)
    )


def _whose(lane: str) -> str:
    """Return for whom a tool asks, unless it is the conversation itself."""
    if is_background(lane):
        return say(" (in the background)")
    return " (for a subagent)" if depth_of(lane) else ""


async def _settle(turn: Turn, ctx: TurnContext, argument: str, *, is_yes: bool) -> Effect:
    store, lane = ctx.services.store, base_lane(turn.lane)
    if not argument:
        waiting = await store.approvals.waiting_around(lane)
        if len(waiting) != 1:
            return refused(_choice(waiting))
        argument = waiting[0].id
    approval = await store.approvals.get(argument)
    if approval is None:
        return refused(say("There is nothing to approve under that id."))
    if is_question(approval.id):
        return effect_of(await _answer(turn, ctx, approval, is_yes=is_yes), turn, ctx)
    state: ApprovalState = "approved" if is_yes else "denied"
    source = turn.event.source
    approver = source.sender_name
    try:
        check_approver(approval, approver, settings=ctx.services.settings.approvals)
        await store.approvals.decide(approval.id, state, by=turn.id, at=ctx.services.clock.now())
    except Forbidden as error:
        return refused(str(error))
    except (GuardFailed, NotFound) as error:
        settled = await store.approvals.get(approval.id)
        if settled is None or settled.decided_by != turn.id:
            return refused(str(error))
    ctx.journal.note("approval", id=approval.id, state=state, by=approver)
    return Effect(text="Approved." if is_yes else "Denied.", wakes=approval.lane)


async def _answer(turn: Turn, ctx: TurnContext, asked: Approval, *, is_yes: bool) -> AnswerReceipt:
    """Take a word on the question of a running tool, from whoever may answer it."""
    services, who = ctx.services, asker_of(turn.event)
    deciders = await _deciders(ctx, asked.id)
    try:
        check_decider(asked, who, deciders=deciders, settings=services.settings.approvals)
    except Forbidden as error:
        return AnswerReceipt(str(error), is_refused=True)
    opened = services.questions.find(asked.id)
    if who == asked.requester and deciders != "admins":
        if opened is None:
            return AnswerReceipt(say(CLOSED))
        return await settle_question(turn, ctx, opened, is_yes=is_yes)
    return await _decide(turn, ctx, asked, is_yes=is_yes)


async def _deciders(ctx: TurnContext, question_id: str) -> Deciders:
    """Return who may answer a question; only its person, if it is not kept or cannot be read."""
    kept = await ctx.services.store.approvals.question(question_id)
    try:
        return "person" if kept is None else read_question(kept).deciders
    except msgspec.DecodeError:
        return "person"


async def _decide(turn: Turn, ctx: TurnContext, asked: Approval, *, is_yes: bool) -> AnswerReceipt:
    """Decide what a running program wants to be allowed, and let it go on."""
    services, store = ctx.services, ctx.services.store
    state: ApprovalState = "approved" if is_yes else "denied"
    if not await store.approvals.answer(
        asked.id, YES if is_yes else NO, state=state, by=turn.id, at=services.clock.now()
    ):
        settled = await store.approvals.get(asked.id)
        if settled is None or settled.decided_by != turn.id:
            return AnswerReceipt(say(CLOSED), is_refused=True)
    services.questions.decided(asked.id, is_yes=is_yes)
    ctx.journal.note("approval", id=asked.id, state=state, by=asker_of(turn.event))
    return AnswerReceipt("Approved." if is_yes else "Denied.")
