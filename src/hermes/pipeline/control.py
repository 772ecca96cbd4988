"""Control commands: rows on a lane beside the session's, so that they pass a running turn."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from hermes.errors import Forbidden, GuardFailed, NotFound
from hermes.message.outcome import MessageState, Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Reply
from hermes.message.session_key import base_lane
from hermes.pipeline.admission import refusal_of, turned_away
from hermes.pipeline.own_memory import tell_memory
from hermes.pipeline.services import TurnContext
from hermes.pipeline.stages.save import build_commit, commit_patiently
from hermes.pipeline.turn import Turn
from hermes.ports.records import ApprovalState, Commit
from hermes.sessions.commands import Command, parse_control
from hermes.tools.approvers import check_approver

# A stranger's message stands beside the lane; this one was let in while it waited there.
_SEND_AGAIN = "You are in now. Please send that again."


class Interrupt(Protocol):
    """Stops a turn if it still runs."""

    def __call__(self, lane: str, by: str, *, message_id: str | None) -> None:
        """Stop the turn of `message_id` on a lane, for the sake of the message `by`."""
        ...


class ControlPlane(msgspec.Struct, frozen=True):
    """What commands may do to other lanes of this process."""

    interrupt: Interrupt
    wake: Callable[[str], None]


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What a command says, and what its commit changes beside its own row."""

    text: str
    interrupts: str | None = None
    reset_lane: str | None = None
    wakes: str | None = None
    outcome: Outcome = Outcome.ANSWERED


async def run_command(turn: Turn, ctx: TurnContext, plane: ControlPlane) -> tuple[Reply, Commit]:
    """Do what a control command says, and return its reply and what was committed."""
    command = parse_control(turn.event.text)
    lane = base_lane(turn.lane)
    if not ctx.journal.begun:
        await ctx.journal.begin(turn)
    effect = Effect(text=_SEND_AGAIN)
    reply = await turned_away(turn, ctx)
    if reply is None and command is not None:
        ctx.journal.note("command", name=command.name)
        reply = refusal_of(command.name, turn, ctx)
        if reply is None:
            effect = await _decide(turn, ctx, command=command, lane=lane)
    reply = reply or Reply(parts=(TextPart(effect.text),), outcome=effect.outcome)
    commit = msgspec.structs.replace(
        build_commit(turn, reply, ctx),
        interrupts=effect.interrupts,
        reset_lane=effect.reset_lane,
        interaction=None,
    )
    assert ctx.journal.lease is not None
    await commit_patiently(ctx, ctx.journal.lease, commit)
    if effect.interrupts is not None:
        plane.interrupt(lane, turn.id, message_id=effect.interrupts)
    plane.wake(effect.wakes or lane)
    return reply, commit


async def _decide(turn: Turn, ctx: TurnContext, *, command: Command, lane: str) -> Effect:
    if command.name in ("approve", "deny"):
        return await _settle_approval(turn, ctx, command=command, lane=lane)
    if command.name == "memory":
        return Effect(text=await tell_memory(turn, ctx, command.argument))
    view = ctx.services.store.turns.view(lane)
    message = view.message
    running = (
        message.id
        if message is not None and message.state in (MessageState.RUNNING, MessageState.PARKED)
        else None
    )
    if command.name == "stop":
        text = "Stopped." if running else "Nothing is running."
        return Effect(text=text, interrupts=running)
    if command.name == "new":
        return Effect(text="Let us start afresh.", interrupts=running, reset_lane=lane)
    state = f"working on {running}" if running else "idle"
    return Effect(text=f"This session is {state}; {view.head} entries so far.")


async def _settle_approval(turn: Turn, ctx: TurnContext, *, command: Command, lane: str) -> Effect:
    store = ctx.services.store
    waiting = store.approvals.waiting(lane)
    approval_id = command.argument or (waiting.id if waiting is not None else "")
    approval = store.approvals.get(approval_id)
    if approval is None:
        return _refused("There is nothing to approve under that id.")
    state: ApprovalState = "approved" if command.name == "approve" else "denied"
    source = turn.event.source
    approver = f"{source.platform}:{source.user_id}"
    try:
        check_approver(approval, approver, settings=ctx.services.settings.approvals)
        await store.approvals.decide(approval.id, state, by=turn.id, at=ctx.services.clock.now())
    except Forbidden as error:
        return _refused(str(error))
    except (GuardFailed, NotFound) as error:
        settled = store.approvals.get(approval.id)
        if settled is None or settled.decided_by != turn.id:
            return _refused(str(error))
    ctx.journal.note("approval", id=approval.id, state=state, by=approver)
    text = "Approved." if state == "approved" else "Denied."
    return Effect(text=text, wakes=approval.lane)


def _refused(text: str) -> Effect:
    return Effect(text=text, outcome=Outcome.REFUSED)
