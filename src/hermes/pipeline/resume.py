"""Resuming after a restart: the notice before it, and the turn rebuilt from its steps after it."""

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.outcome import DeliveryState
from hermes.message.parts import NotePart, TextPart, ToolCallPart, ToolResultPart
from hermes.pipeline.accounts import account_of
from hermes.pipeline.children import children_of
from hermes.pipeline.exchange import (
    call_number,
    pending_calls,
    with_answer,
    with_claimed,
    with_result,
)
from hermes.pipeline.follow_ups import last_sent_at, rejoined
from hermes.pipeline.graph_notes import note_call, note_tool
from hermes.pipeline.history_fit import leave_out, without_unanswered
from hermes.pipeline.pending_images import without_pending_images
from hermes.pipeline.services import Services, TurnContext
from hermes.pipeline.stages.load_history import history_bytes, use_session
from hermes.pipeline.targets import reply_id, target_of
from hermes.pipeline.turn import PreparedTurn, Turn, estimate
from hermes.ports.sends import NewSend
from hermes.ports.spend import SpendEntry
from hermes.ports.steps import Step, StepFacts
from hermes.ports.transcripts import TranscriptEntry
from hermes.ports.turns import SHOWN_CHARS, LaneView, ToolUse
from hermes.ports.upward import Progress
from hermes.texts.say import say, words
from hermes.tools.executor import outcome_unknown
from hermes.tools.gate import allowed_tools

TOLD = words(
    "I am being restarted. I finish this first if I can; otherwise I go on with it as "
    "soon as I am back."
)

_decode_prepared = msgspec.json.Decoder(PreparedTurn).decode
_decode_chat = msgspec.json.Decoder(ChatMessage).decode
_encode = msgspec.json.Encoder().encode
_CUT_OFF = (
    "\n\n[This turn was cut off by a restart after this result, and goes on now. "
    "What was done before is not to be done again.]"
)


async def restore(turn: Turn, steps: tuple[Step, ...], ctx: TurnContext) -> Turn | None:
    """Return the turn as far as its steps go, or None when nothing was prepared yet."""
    first = next((step for step in steps if step.kind == "prepared"), None)
    if first is None or first.body is None:
        return None
    frozen, inbox = _decode_prepared(first.body), ctx.services.store.inbox
    ctx.interrupt.last_at = await last_sent_at(turn.received_at, steps, inbox)
    turn = await _thaw(await rejoined(turn, steps, inbox), frozen, ctx)
    is_erased = any(step.kind == "steer" and step.body is None for step in steps)
    is_same = not is_erased and _is_as_it_was(turn, frozen, ctx)
    for step in steps:
        turn = await _replay(turn, step if is_same else _doubted(step), ctx)
    ctx.journal.note("resumed", steps=len(steps))
    return turn


def tell_of_cut(turn: Turn, ctx: TurnContext) -> tuple[Turn, tuple[Step, ...]]:
    """Tell the model, if a tool's result is the last that it will see, that the turn was cut off there.

    The note is a step, written before the model is called: whoever resumes once more finds it and
    says nothing new. Returns the turn and the step.
    """
    if not turn.exchanged or pending_calls(turn):
        return turn, ()
    last = turn.exchanged[-1].message
    result = last.parts[0]
    if not isinstance(result, ToolResultPart) or isinstance(last.parts[-1], NotePart):
        return turn, ()
    if result == outcome_unknown(ToolCallPart(result.call_id, result.name, "")):
        # It says itself that it was cut off.
        return turn, ()
    told = ChatMessage("tool", (*last.parts, NotePart(_CUT_OFF)))
    step = ctx.journal.note_step(result.name, _encode(told))
    return _told(turn, told, ordinal=step.ordinal), (step,)


def _told(turn: Turn, told: ChatMessage, *, ordinal: int) -> Turn:
    """Return the turn with a note behind its last result."""
    return msgspec.structs.replace(
        turn, exchanged=(*turn.exchanged[:-1], TranscriptEntry(told, ordinal))
    )


async def _thaw(turn: Turn, frozen: PreparedTurn, ctx: TurnContext) -> Turn:
    services = ctx.services
    use_session(turn, ctx)
    said = await services.store.transcripts.history(
        turn.lane,
        epoch=frozen.epoch,
        head=frozen.head,
        limit=_limit_of(frozen, services),
        cut=frozen.retry or frozen.cut,
        compaction=frozen.compaction,
    )
    turn = turn.after(said).since(frozen.shared_from)
    if frozen.left_out is not None and turn.start is not None:
        turn = leave_out(turn, frozen.left_out)
    turn = without_unanswered(msgspec.structs.replace(turn, retry=frozen.retry, cut=frozen.cut))
    return msgspec.structs.replace(
        turn,
        agent=await services.roster.at_version(frozen.agent, frozen.agent_version) or turn.agent,
        epoch=frozen.epoch,
        head=frozen.head,
        person=frozen.person,
        hold=frozen.hold,
        system=frozen.system,
        user=frozen.user,
        tools=tuple(tool.spec for tool in allowed_tools(services.tools, frozen.tools)),
        plan=frozen.plan,
        soul_ms=frozen.soul_ms,
        soul=frozen.soul,
        has_recalled=frozen.has_recalled,
        pending_images=frozen.pending_images,
        missed=frozen.missed,
        skills=frozen.skills,
    )


def _limit_of(frozen: PreparedTurn, services: Services) -> int:
    """Return how much of the session to read; an older Hermes counted messages."""
    if frozen.compaction is None:
        return history_bytes(services.calls.largest_context)
    return frozen.history_limit


def _is_as_it_was(turn: Turn, frozen: PreparedTurn, ctx: TurnContext) -> bool:
    """Return whether the calls before the crash were shown what the turn has now."""
    digest = ctx.services.store.digest(_encode(turn.tools))
    return frozen.shown == len(turn.history) and frozen.tools_digest == digest


def _doubted(step: Step) -> Step:
    """Return a step whose call saw other tools, or messages of a person who was erased since."""
    facts = step.facts or StepFacts()
    return msgspec.structs.replace(step, facts=msgspec.structs.replace(facts, is_verbatim=False))


async def _replay(turn: Turn, step: Step, ctx: TurnContext) -> Turn:
    if step.kind == "model":
        return _replay_model(turn, step, ctx)
    if step.kind == "adapter":
        return _replay_adapter(turn, step, ctx)
    if step.kind == "tool":
        return await _replay_tool(turn, step, ctx)
    if step.kind == "look":
        return _replay_look(turn, step, ctx)
    if step.kind == "sight":
        return _replay_images(turn, step, ctx)
    if step.kind == "note":
        return _replay_note(turn, step)
    if step.kind == "steer" and step.body is not None:
        return with_claimed(turn, step.name, _decode_chat(step.body), ordinal=step.ordinal)
    return turn


def _replay_model(turn: Turn, step: Step, ctx: TurnContext) -> Turn:
    if step.state == "done" and step.body is not None:
        turn = msgspec.structs.replace(
            note_call(turn, step),
            usage=turn.usage.plus(step.usage),
            model=step.name,
            merged=turn.claimed,
        )
        return with_answer(turn, _decode_chat(step.body), ordinal=step.ordinal)
    return _in_vain(turn, step, ctx)


def _replay_adapter(turn: Turn, step: Step, ctx: TurnContext) -> Turn:
    """Replay the call of an adapter; one that was cut off is not made again as if it were new."""
    if step.state == "done" and step.body is not None:
        turn = msgspec.structs.replace(
            note_call(turn, step),
            usage=turn.usage.plus(step.usage),
            model=step.name if step.facts is None else step.facts.model,
            merged=turn.claimed,
        )
        return with_answer(turn, _decode_chat(step.body), ordinal=step.ordinal)
    if step.state == "started":
        ctx.journal.lose(step.ordinal, msgspec.structs.replace(step, state="lost"))
    return turn


def _replay_look(turn: Turn, step: Step, ctx: TurnContext) -> Turn:
    """Count a picture description; its text is read again by whatever needs it."""
    if step.state not in ("done", "failed"):
        return _in_vain(turn, step, ctx)
    return msgspec.structs.replace(turn, usage=turn.usage.plus(step.usage))


def _replay_images(turn: Turn, step: Step, ctx: TurnContext) -> Turn:
    if step.body is not None:
        return without_pending_images(turn, _decode_chat(step.body), ordinal=step.ordinal)
    if step.state == "started":
        ctx.journal.lose(step.ordinal, msgspec.structs.replace(step, state="lost"))
    return turn


def _replay_note(turn: Turn, step: Step) -> Turn:
    """Replay a note at its place; it is void if the result before it is awaited again."""
    if step.body is None or not turn.exchanged:
        return turn
    told = _decode_chat(step.body)
    is_behind = told.parts[0] == turn.exchanged[-1].message.parts[0]
    return _told(turn, told, ordinal=step.ordinal) if is_behind else turn


def _in_vain(turn: Turn, step: Step, ctx: TurnContext) -> Turn:
    """Settle a call without an answer; one that a crash cut off was made all the same."""
    if step.state == "started":
        lost = msgspec.structs.replace(step, state="lost", usage=estimate(turn), payer="platform")
        ctx.journal.lose(step.ordinal, lost)
        ctx.journal.spend((_spent_in_vain(turn, lost, ctx),))
        step = lost
    if step.payer == "platform":
        return msgspec.structs.replace(turn, platform_usage=turn.platform_usage.plus(step.usage))
    return msgspec.structs.replace(turn, usage=turn.usage.plus(step.usage))


def _spent_in_vain(turn: Turn, step: Step, ctx: TurnContext) -> SpendEntry:
    """A call whose answer a crash lost was made all the same; the platform pays for it."""
    calls = ctx.services.calls
    cost = calls.cost_of(step.name, step.usage)
    return SpendEntry(
        day=calls.day(step.at),
        account=account_of(turn, pays_platform=True),
        model=step.name,
        usage=cost.usage,
        assumed_usd=cost.assumed_usd,
    )


async def _replay_tool(turn: Turn, step: Step, ctx: TurnContext) -> Turn:
    call = _call_of(turn, step)
    if call is None:
        return turn
    if step.state == "started":
        return await _lost_tool(turn, step, call=call, ctx=ctx)
    return turn if step.body is None else _with_step(turn, step, call=call, body=step.body)


def _call_of(turn: Turn, step: Step) -> ToolCallPart | None:
    """Return the pending call that a step answers; steps of an older Hermes came one by one."""
    named = "" if step.facts is None else step.facts.call_id
    pending = pending_calls(turn)
    return next((call for call in pending if not named or call.id == named), None)


def _with_step(turn: Turn, step: Step, *, call: ToolCallPart, body: bytes) -> Turn:
    was_run = step.facts is None or step.facts.was_run
    message = _decode_chat(body)
    shown = "".join(part.text for part in message.parts[:1] if isinstance(part, ToolResultPart))
    use = ToolUse(step.name, call.arguments, step.state != "done", was_run, shown[:SHOWN_CHARS])
    turn = note_tool(turn, call.id, step)
    return with_result(turn, message, call=call, use=use, ordinal=step.ordinal)


async def _lost_tool(turn: Turn, step: Step, *, call: ToolCallPart, ctx: TurnContext) -> Turn:
    """Settle a tool that was running: run it again only if it says that this is safe."""
    tool = ctx.services.tools.get(step.name)
    if tool is not None and tool.traits.idempotent:
        ctx.journal.lose(step.ordinal, msgspec.structs.replace(step, state="lost"))
        return turn
    body = _encode(ChatMessage("tool", (outcome_unknown(call),)))
    children = await children_of(
        ctx.services.store.turns, turn.lane, turn.id, call=call_number(turn, call)
    )
    facts = msgspec.structs.replace(step.facts or StepFacts(), children=children)
    unknown = msgspec.structs.replace(step, state="unknown", body=body, facts=facts)
    ctx.journal.lose(step.ordinal, unknown)
    return _with_step(turn, unknown, call=call, body=body)


async def tell_of_stop(view: LaneView, services: Services) -> None:
    """Tell the person of a running turn that the gateway stops."""
    message = view.message
    event = None if message is None else message.event
    if message is None or event is None or event.internal or event.scheduled is not None:
        return
    services.watch.publish(message.id, Progress(kind="status", text=say(TOLD)))
    platform = event.source.platform
    if message.control or services.first_state(platform) is not DeliveryState.PENDING:
        return
    send = NewSend(
        id=f"{reply_id(message.id)}_{services.owner}",
        message_id=message.id,
        person_id=message.person_id,
        target=target_of(event),
        parts=(TextPart(say(TOLD)),),
        state=DeliveryState.PENDING,
        at=services.clock.now(),
        purpose="notice",
    )
    if await services.store.sends.put(send, kept=lambda _: None):
        services.wake_outbox(platform)
