"""Stage: the next tool calls of the model's last answer, and the messages steered in after them.

One call at a time, or those side by side that stand next to each other and whose tools all say
that they may. Either way each call has its own step, written before it starts.
"""

import asyncio
from contextlib import nullcontext
from typing import Protocol

import msgspec

from hermes.config import AgentSettings
from hermes.errors import ToolError, TurnInterrupted
from hermes.message.chat import ChatMessage
from hermes.message.event import MessageEvent
from hermes.message.parts import Part, ToolCallPart, ToolResultPart
from hermes.message.reply import Reply
from hermes.message.session_key import is_direct
from hermes.pipeline.accounts import HasKeys, may_read_history
from hermes.pipeline.approval_waits import ApprovalServices, binding, find_decision, park
from hermes.pipeline.children import LaneViews, run_child
from hermes.pipeline.exchange import call_number, pending_call, pending_calls, with_claimed
from hermes.pipeline.message_notes import joined_parts
from hermes.pipeline.needs import (
    HasDigest,
    KnowsIds,
    Lookup,
    MediaServices,
    StoppableContext,
    ToolJournal,
)
from hermes.pipeline.replies import stopped_reply
from hermes.pipeline.stages.fetch_media import fetched
from hermes.pipeline.teams import AgentReach, TaskTurns, TeamServices, TeamStore, TurnTeam
from hermes.pipeline.tool_questions import QuestionRecords, QuestionServices, ask_person
from hermes.pipeline.tool_results import FinishedCall, take_result
from hermes.pipeline.turn import Turn
from hermes.ports.approvals import Approval
from hermes.ports.memory import Soul
from hermes.ports.tool import Approver, AsksByCall, Tool, ToolContext
from hermes.ports.turns import MessageRecord
from hermes.ports.upward import Progress
from hermes.tools.arguments import checked_arguments
from hermes.tools.executor import MaskResult, denied, run_tool, stopped, unknown_tool

_encode = msgspec.json.Encoder().encode
_EVERY_TOOL = "*"


class SteeringMessages(LaneViews, TaskTurns, Protocol):
    """Knows the messages that wait to join a turn."""

    async def steering(self, lane: str, person_id: str) -> tuple[MessageRecord, ...]: ...


class SessionSouls(Protocol):
    """Reads the blocks that a session received about its person."""

    async def get(self, lane: str, epoch: int) -> Soul | None: ...


class ApprovalAndQuestionRecords(Lookup[Approval], QuestionRecords, Protocol):
    """Knows what people were asked."""


class ToolStore(HasDigest, HasKeys, TeamStore, Protocol):
    """A store that knows what tools ask of it: approvals, subagents, and whose a session is."""

    @property
    def turns(self) -> SteeringMessages: ...
    @property
    def souls(self) -> SessionSouls: ...
    @property
    def approvals(self) -> ApprovalAndQuestionRecords: ...


class ToolServices(
    ApprovalServices, QuestionServices, TeamServices, MediaServices, KnowsIds, Protocol
):
    """What `run_tools` uses: tools, and what a tool may do: ask, start subagents, be steered."""

    @property
    def store(self) -> ToolStore: ...
    @property
    def mask_result(self) -> MaskResult: ...


_Context = StoppableContext[ToolServices, ToolJournal]


async def run_tools(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Run the next pending tool calls; then let waiting messages join the turn."""
    calls = pending_calls(turn)
    if not calls:
        return turn
    try:
        ctx.interrupt.check()
        beside = _side_by_side(turn, ctx, calls)
        if len(beside) > 1:
            turn = await _run_all(turn, ctx, pairs=beside)
        else:
            turn = await _answer(turn, ctx, calls[0])
    except TurnInterrupted:
        return stopped_reply(turn, "", by=ctx.interrupt.by or "")
    if pending_call(turn) is None:
        turn = await _steer(turn, ctx)
    return turn


def _tool_for(turn: Turn, ctx: _Context, call: ToolCallPart) -> Tool | None:
    """Return the tool of a call, if the model was given it."""
    allowed = any(spec.name == call.name for spec in turn.tools)
    return ctx.services.tools.get(call.name) if allowed else None


def _side_by_side(
    turn: Turn, ctx: _Context, calls: tuple[ToolCallPart, ...]
) -> list[tuple[Tool, ToolCallPart]]:
    """Return the calls from the first one on that may run at the same time, with their tools."""
    found: list[tuple[Tool, ToolCallPart]] = []
    for call in calls[: ctx.services.settings.tools.parallel_calls]:
        tool = _tool_for(turn, ctx, call)
        is_repeated = any(one.id == call.id for _, one in found)
        if tool is None or not tool.traits.runs_beside_others or is_repeated:
            break
        if isinstance(tool, AsksByCall) or _asks_first(turn.agent.settings, call):
            break
        found.append((tool, call))
    return found


async def _answer(turn: Turn, ctx: _Context, call: ToolCallPart) -> Turn:
    tool = _tool_for(turn, ctx, call)
    if tool is None:
        return await _refuse(turn, ctx, call=call, result=unknown_tool(call))
    approver = await _approver(turn, ctx, tool=tool, call=call)
    if approver != "nobody":
        refusal = await _decision(turn, ctx, call, by_admins=approver == "admins")
        if refusal is not None:
            return await _refuse(turn, ctx, call=call, result=refusal)
    (ordinal,) = await ctx.journal.start_tools(turn, (call,), arguments=(binding(call),))
    ran = await _run(turn, ctx, tool=tool, call=call, ordinal=ordinal, approved_by=approver)
    return await take_result(_timed(turn, ran.ms), ctx, ran)


async def _approver(turn: Turn, ctx: _Context, *, tool: Tool, call: ToolCallPart) -> Approver:
    """Return who has to agree to a call: by the tool's own word, and by the settings of the agent."""
    policy = turn.agent.settings.approvals
    approver = await _tools_approver(turn, ctx, tool=tool, call=call)
    if approver == "nobody":
        return policy.by if _asks_first(turn.agent.settings, call) else "nobody"
    return "admins" if policy.by == "admins" else approver


def _asks_first(agent: AgentSettings, call: ToolCallPart) -> bool:
    """Return whether the settings of an agent say that somebody has to allow a call."""
    named = agent.approvals.tools
    return call.name in named or _EVERY_TOOL in named


async def _tools_approver(turn: Turn, ctx: _Context, *, tool: Tool, call: ToolCallPart) -> Approver:
    """Return who has to agree to a call: by the tool's traits, or by what it says of this one."""
    if tool.traits.needs_approval:
        return "person"
    if not isinstance(tool, AsksByCall):
        return "nobody"
    try:
        arguments = checked_arguments(call, tool.spec)
    except ToolError:
        # Nothing will be run, and the model is told why.
        return "nobody"
    return await tool.approver(arguments, await _context(turn, ctx, call=call, ordinal=-1))


async def _decision(
    turn: Turn, ctx: _Context, call: ToolCallPart, *, by_admins: bool = False
) -> ToolResultPart | None:
    """Return None if a person approved this call; park the turn if nobody was asked yet."""
    approval = await find_decision(ctx.journal.steps, call, ctx)
    if approval is None or approval.state == "waiting":
        await park(turn, ctx, call, by_admins=by_admins)
    assert approval is not None
    if approval.ordinal in ctx.journal.open_ordinals:
        ctx.journal.end(approval.ordinal, None)
    ctx.journal.spent.add(approval.id)
    if approval.state == "approved":
        return None
    return denied(call, f"approval {approval.id} was {approval.state}")


async def _refuse(turn: Turn, ctx: _Context, *, call: ToolCallPart, result: ToolResultPart) -> Turn:
    """Record a result that no tool gave."""
    (ordinal,) = await ctx.journal.start_tools(turn, (call,), arguments=(b"",))
    return await take_result(turn, ctx, FinishedCall(call, ordinal, result, was_run=False))


async def _run_all(turn: Turn, ctx: _Context, *, pairs: list[tuple[Tool, ToolCallPart]]) -> Turn:
    """Run calls at the same time; what has ended is written down while others still run.

    When the person stops the turn, those that can be cancelled are, and the others are waited for.
    """
    began = ctx.services.clock.monotonic()
    calls = [call for _, call in pairs]
    bound = tuple(map(binding, calls))
    ordinals = await ctx.journal.start_tools(turn, calls, arguments=bound)
    running = {
        asyncio.create_task(
            _run_beside(turn, ctx, tool=tool, call=call, ordinal=ordinal),
            name=f"tool {turn.id}.{ordinal}",
        )
        for (tool, call), ordinal in zip(pairs, ordinals, strict=True)
    }
    try:
        while running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for ran in sorted((task.result() for task in done), key=lambda ran: ran.ordinal):
                turn = await take_result(turn, ctx, ran)
            if running:
                await ctx.journal.write_results(turn)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return _timed(turn, (ctx.services.clock.monotonic() - began) * 1000)


async def _run_beside(
    turn: Turn, ctx: _Context, *, tool: Tool, call: ToolCallPart, ordinal: int
) -> FinishedCall:
    try:
        return await _run(turn, ctx, tool=tool, call=call, ordinal=ordinal)
    except TurnInterrupted:
        return FinishedCall(call, ordinal, stopped(call))


async def _run(
    turn: Turn,
    ctx: _Context,
    *,
    tool: Tool,
    call: ToolCallPart,
    ordinal: int,
    approved_by: Approver = "nobody",
) -> FinishedCall:
    services = ctx.services
    services.watch.publish(turn.id, Progress(kind="tool", text=call.name))
    context = await _context(turn, ctx, call=call, ordinal=ordinal, approved_by=approved_by)
    limit = services.settings.turns.tool_timeout_s
    started = services.clock.monotonic()
    with ctx.interrupt.scope() if tool.traits.cancellable else nullcontext():
        result = await run_tool(
            tool, call, context=context, timeout_s=limit, mask=services.mask_result
        )
    return FinishedCall(call, ordinal, result, (services.clock.monotonic() - started) * 1000)


async def _context(
    turn: Turn,
    ctx: _Context,
    *,
    call: ToolCallPart,
    ordinal: int,
    approved_by: Approver = "nobody",
) -> ToolContext:
    number = call_number(turn, call)
    return ToolContext(
        turn_id=turn.id,
        ordinal=ordinal,
        person_id=turn.person_id,
        lane=turn.lane,
        run_child=lambda text, agent: run_child(
            turn, ctx, text=text, agent=agent, call=number, ordinal=ordinal
        ),
        sample=lambda text, agent: run_child(
            turn, ctx, text=text, agent=agent, call=number, ordinal=ordinal, has_tools=False
        ),
        call=number,
        is_private=await _is_private(turn, ctx.services.store),
        may_read_history=await may_read_history(turn, ctx.services.store),
        approved_by=approved_by,
        team=TurnTeam(turn, ctx, reach=AgentReach(turn), call=number, ordinal=ordinal),
        ask=lambda question: ask_person(turn, ctx, question, tool=call.name, ordinal=ordinal),
        skills=turn.skills,
        folder=turn.agent.settings.adapter.folder,
    )


async def _is_private(turn: Turn, store: ToolStore) -> bool:
    """Return whether only the person reads along: a direct chat in which nobody else wrote.

    The result of a subagent is shown in the chat that it works for.
    """
    if not is_direct(turn.lane):
        return False
    root = turn.lane.partition("/")[0]
    if root == turn.lane:
        soul = turn.soul or await store.souls.get(turn.lane, turn.epoch)
        return _is_theirs(turn, soul)
    view = await store.turns.view(root)
    soul = await store.souls.get(root, view.epoch)
    if soul is None and view.head == 0 and view.message is not None:
        return view.message.person_id == turn.person_id
    return _is_theirs(turn, soul)


def _is_theirs(turn: Turn, soul: Soul | None) -> bool:
    return soul is not None and soul.shared_from is None and soul.person_id == turn.person_id


def _timed(turn: Turn, ms: float) -> Turn:
    return msgspec.structs.replace(turn, tool_ms=turn.tool_ms + ms)


async def _joined(event: MessageEvent, turn: Turn, ctx: _Context) -> tuple[Part, ...]:
    return await joined_parts(event, turn.context(), personal_ids=ctx.services.personal_ids)


async def _steer(turn: Turn, ctx: _Context) -> Turn:
    """Let the person's own messages that wait with the policy `steer` join the turn.

    What others say never does: the tools of a turn act for its person alone.
    """
    for waiting in await ctx.services.store.turns.steering(turn.lane, turn.person_id):
        if waiting.event is None:
            continue
        joined = ChatMessage(
            "user",
            await fetched(await _joined(waiting.event, turn, ctx), turn, ctx.services),
        )
        ordinal = await ctx.journal.claim(turn, waiting.id, body=_encode(joined))
        turn = with_claimed(turn, waiting.id, joined, ordinal=ordinal)
    return turn
