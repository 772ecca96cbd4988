"""Control commands: rows on a lane beside the session's, so that they pass a running turn."""

from collections.abc import Callable

import msgspec

from hermes.errors import SendingBegan
from hermes.message.parts import TextPart
from hermes.message.plain_answer import plain_answer
from hermes.message.reply import Reply
from hermes.message.session_key import base_lane
from hermes.pipeline.admission import refusal_of, turned_away
from hermes.pipeline.choice_offers import OfferedQuestion
from hermes.pipeline.commands.approvals import approve, deny, effect_of
from hermes.pipeline.commands.effect import Effect, refused, said_if_sending
from hermes.pipeline.commands.feedback import take_feedback
from hermes.pipeline.commands.help import unknown
from hermes.pipeline.commands.plugin_commands import run_plugged
from hermes.pipeline.commands.table import BESIDE
from hermes.pipeline.needs import StopTurn
from hermes.pipeline.services import TurnContext
from hermes.pipeline.stages.save import build_commit, commit_patiently
from hermes.pipeline.targets import target_of
from hermes.pipeline.tool_questions import take_answer, was_asked
from hermes.pipeline.turn import Turn
from hermes.ports.turns import Commit, DeliveryStop, MessageRecord
from hermes.sessions.commands import TypedCommand
from hermes.texts.say import say, words

# A stranger's message stands beside the lane; this one was let in while it waited there.
_SEND_AGAIN = words("You are in now. Please send that again.")


class ControlPlane(msgspec.Struct, frozen=True):
    """What commands may do to other lanes of this process."""

    interrupt: StopTurn
    wake: Callable[[str], None]


async def run_command(turn: Turn, ctx: TurnContext, plane: ControlPlane) -> tuple[Reply, Commit]:
    """Do what a control command says, and return its reply and what was committed."""
    lane = base_lane(turn.lane)
    if not ctx.journal.begun:
        await ctx.journal.begin(turn)
    reply = await turned_away(turn, ctx)
    effect = Effect(text="")
    if reply is None:
        reply, effect = await _act(turn, ctx, lane)
    reply, commit = await _committed(turn, ctx, reply, effect=effect)
    if effect.interrupts is not None:
        plane.interrupt(lane, turn.id, message_id=effect.interrupts)
    for record in await _stopped_below(lane, ctx, effect=effect):
        plane.interrupt(record.lane, turn.id, message_id=record.id)
        plane.wake(record.lane)
    plane.wake(effect.wakes or lane)
    return reply, commit


async def _stopped_below(
    lane: str, ctx: TurnContext, *, effect: Effect
) -> tuple[MessageRecord, ...]:
    """Return what a command has stopped below a lane; it may wait for a person."""
    if effect.interrupts is None and not effect.stops_below:
        return ()
    below = await ctx.services.store.turns.below(lane)
    return tuple(one for one in below if one.interrupted_by is not None)


async def _committed(
    turn: Turn, ctx: TurnContext, reply: Reply, *, effect: Effect
) -> tuple[Reply, Commit]:
    """Commit a command; return its reply and the commit."""
    lease, commit = ctx.journal.lease, _with_effect(turn, build_commit(turn, reply, ctx), effect)
    assert lease is not None
    try:
        await commit_patiently(ctx, lease, commit)
    except SendingBegan:
        reply, effect = _ended(said_if_sending(effect))
        again = _with_effect(turn, build_commit(turn, reply, ctx), effect)
        # What the journal handed over for the first one is nowhere else.
        commit = msgspec.structs.replace(
            again, ended=commit.ended, spent=commit.spent, events=commit.events
        )
        await commit_patiently(ctx, lease, commit)
    return reply, commit


def _with_effect(turn: Turn, commit: Commit, effect: Effect) -> Commit:
    lane = base_lane(turn.lane)
    stop = DeliveryStop(lane, target_of(turn.event), is_expected=effect.text_if_sending is None)
    return msgspec.structs.replace(
        commit,
        interrupts=effect.interrupts,
        reset_lane=effect.reset_lane,
        end_reason=effect.end_reason,
        stops_below=lane if effect.stops_below else None,
        stops_sending=stop if effect.stops_sending else None,
    )


async def _act(turn: Turn, ctx: TurnContext, lane: str) -> tuple[Reply, Effect]:
    pressed = turn.event.pressed
    if pressed is not None and pressed.refusal:
        ctx.journal.note("press", result=pressed.refusal)
        return _ended(msgspec.structs.replace(refused(say(pressed.refusal)), is_passing=True))
    written = ctx.services.commands.read(turn.event.text)
    if written is None and turn.event.reaction is not None:
        return await take_feedback(turn, ctx, turn.event.reaction), Effect(text="")
    if written is None:
        return _ended(await _answered(turn, ctx, lane))
    ctx.journal.note("command", name=written.name)
    if written.spec is None:
        return _ended(unknown(turn, ctx, written))
    refusal = refusal_of(written.spec, turn, ctx.services.reception)
    if refusal is None and ctx.services.hooks is not None:
        refusal = await ctx.services.hooks.refusal(written, turn)
    if refusal is not None:
        return refusal, Effect(text="")
    return _ended(await _effect(written, turn, ctx))


async def _answered(turn: Turn, ctx: TurnContext, lane: str) -> Effect:
    """Return what becomes of words that are the answer to something."""
    if await was_asked(turn, ctx, lane):
        return effect_of(await take_answer(turn, ctx, lane), turn, ctx)
    is_yes = plain_answer(turn.event.text)
    if is_yes is not None:
        return await (approve if is_yes else deny)(turn, ctx, "")
    return Effect(text=say(_SEND_AGAIN))


async def _effect(written: TypedCommand, turn: Turn, ctx: TurnContext) -> Effect:
    act = BESIDE.get(written.name)
    if act is None:
        return Effect(text=await run_plugged(written, turn, ctx.services))
    return await act(turn, ctx, written.argument)


def _ended(effect: Effect) -> tuple[Reply, Effect]:
    asks = effect.asks or OfferedQuestion((TextPart(effect.text),))
    reply = Reply(
        parts=asks.parts,
        outcome=effect.outcome,
        offer=asks.offer,
        is_passing=effect.is_passing,
    )
    return reply, effect
