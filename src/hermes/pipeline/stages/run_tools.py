"""Stage: the next tool call of the model's last answer, and the messages steered in after it."""

import msgspec

from hermes.errors import TurnInterrupted
from hermes.message.chat import ChatMessage
from hermes.message.parts import ToolCallPart, ToolResultPart
from hermes.message.reply import Reply
from hermes.pipeline.children import run_child
from hermes.pipeline.exchange import pending_call
from hermes.pipeline.graph_notes import note_tool
from hermes.pipeline.parked import binding, find_decision, park
from hermes.pipeline.replies import interrupted
from hermes.pipeline.services import TurnContext
from hermes.pipeline.turn import Turn
from hermes.ports.records import Step, StepFacts, ToolUse
from hermes.ports.tool import Tool, ToolContext
from hermes.ports.upward import Progress
from hermes.tools.executor import denied, run_tool, unknown_tool

_encode = msgspec.json.Encoder().encode


async def run_tools(turn: Turn, ctx: TurnContext) -> Turn | Reply:
    """Run the next pending tool call; afterwards let waiting messages join the turn."""
    call = pending_call(turn)
    if call is None:
        return turn
    try:
        ctx.interrupt.check()
        turn = await _answer(turn, ctx, call)
    except TurnInterrupted:
        return interrupted("", ctx.interrupt.by or "")
    if pending_call(turn) is None:
        turn = await _steer(turn, ctx)
    return turn


async def _answer(turn: Turn, ctx: TurnContext, call: ToolCallPart) -> Turn:
    tool = ctx.services.tools.get(call.name)
    allowed = any(spec.name == call.name for spec in turn.tools)
    if tool is None or not allowed:
        return await _refuse(turn, ctx, unknown_tool(call))
    if tool.traits.needs_approval:
        refusal = await _decision(turn, ctx, call)
        if refusal is not None:
            return await _refuse(turn, ctx, refusal)
    return await _run(turn, ctx, tool=tool, call=call)


async def _decision(turn: Turn, ctx: TurnContext, call: ToolCallPart) -> ToolResultPart | None:
    """Return None when a person approved this call; parks the turn when nobody was asked."""
    approval = find_decision(ctx.journal.steps, call, ctx)
    if approval is None or approval.state == "waiting":
        await park(turn, ctx, call)
    assert approval is not None
    if approval.ordinal in ctx.journal.open_ordinals:
        ctx.journal.end(approval.ordinal, None)
    ctx.journal.spent.add(approval.id)
    if approval.state == "approved":
        return None
    return denied(call, f"approval {approval.id} was {approval.state}")


async def _refuse(turn: Turn, ctx: TurnContext, result: ToolResultPart) -> Turn:
    """Record a result that no tool gave."""
    ordinal = await ctx.journal.start(turn, "tool", name=result.name)
    return _ended(turn, ctx, ordinal=ordinal, result=result, arguments="", ms=0.0)


async def _run(turn: Turn, ctx: TurnContext, *, tool: Tool, call: ToolCallPart) -> Turn:
    services = ctx.services
    ordinal = await ctx.journal.start(turn, "tool", name=call.name, arguments=binding(call))
    services.watch.publish(turn.id, Progress(kind="tool", text=call.name))
    context = ToolContext(
        turn_id=turn.id,
        ordinal=ordinal,
        person_id=turn.person_id,
        lane=turn.lane,
        run_child=lambda text, agent: run_child(turn, ctx, text=text, agent=agent),
    )
    started = services.clock.monotonic()
    running = run_tool(
        tool, call, context=context, timeout_s=services.settings.turns.tool_timeout_s
    )
    if tool.traits.cancellable:
        async with ctx.interrupt.scope():
            result = await running
    else:
        result = await running
    took_ms = (services.clock.monotonic() - started) * 1000
    turn = msgspec.structs.replace(turn, tool_ms=turn.tool_ms + took_ms)
    return _ended(turn, ctx, ordinal=ordinal, result=result, arguments=call.arguments, ms=took_ms)


def _ended(
    turn: Turn,
    ctx: TurnContext,
    *,
    ordinal: int,
    result: ToolResultPart,
    arguments: str,
    ms: float,
) -> Turn:
    message = ChatMessage("tool", (result,))
    facts = StepFacts(ms=ms, children=ctx.journal.take_children())
    state = Step(
        ordinal=ordinal, kind="tool", state="failed" if result.failed else "done", facts=facts
    )
    ended = ctx.journal.end(ordinal, _encode(message), step=state)
    turn = note_tool(turn, result.call_id, ended)
    use = ToolUse(result.name, arguments, result.failed)
    turn = msgspec.structs.replace(turn, tool_uses=(*turn.tool_uses, use))
    return turn.plus(message, ordinal=ordinal)


async def _steer(turn: Turn, ctx: TurnContext) -> Turn:
    """Let messages that wait with the policy `steer` join the turn."""
    for waiting in ctx.services.store.turns.steering(turn.lane):
        if waiting.event is None:
            continue
        joined = ChatMessage("user", waiting.event.parts)
        ordinal = await ctx.journal.claim(
            turn, waiting.id, body=_encode(joined), person_id=waiting.person_id
        )
        turn = msgspec.structs.replace(turn, claimed=(*turn.claimed, waiting.id))
        turn = turn.plus(joined, ordinal=ordinal)
    return turn
