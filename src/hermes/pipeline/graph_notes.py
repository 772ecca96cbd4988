"""What the message graph is told of a turn beside its messages: the calls it made, the tools it ran.

Made when a call or a tool ends, and made again from the steps when a turn is resumed; it must come
out the same.
"""

import msgspec

from hermes.graph.records import Link
from hermes.message.chat import ChatMessage
from hermes.message.parts import TextPart
from hermes.message.session_key import graph_name
from hermes.pipeline.turn import Turn
from hermes.ports.steps import Step, StepFacts
from hermes.ports.transcripts import NewCall

# A step of an older Hermes: nobody knows any more how its answer came about.
_UNKNOWN = StepFacts(is_verbatim=False)


def note_call(turn: Turn, step: Step) -> Turn:
    """Return the turn with the model call of `step`, whose answer is not processed yet."""
    facts = step.facts or _UNKNOWN
    system = tuple(ChatMessage("system", (TextPart(block),)) for block in turn.system if block)
    summary, left_out = _summary(turn, facts.left_out)
    before = () if turn.start is not None else turn.history[left_out:]
    own = max(0, len(before) - len(turn.event.history)) + len(summary)
    before = (*summary, *before)
    call = NewCall(
        id=f"{turn.id}.{step.ordinal}",
        model=facts.model or step.name,
        seen=len(turn.exchanged) + (turn.user is not None),
        lead=(*system, *before),
        known=(len(system), len(system) + own),
        start=None if turn.start is None else turn.start + left_out,
        skipped=max(0, left_out - len(turn.history)),
        at=step.ended_at or step.at,
        tools=turn.tools if facts.had_tools else (),
        sampling=facts.sampling,
        metadata={"stop_reason": facts.stop_reason} if facts.stop_reason else {},
        usage=step.usage,
        sampled=facts.is_verbatim and facts.cached_from is None,
        cached_from=facts.cached_from,
    )
    return msgspec.structs.replace(
        turn, calls=(*turn.calls, call), stop_reason=facts.stop_reason, rest=facts.rest
    )


def _summary(turn: Turn, left_out: int) -> tuple[tuple[ChatMessage, ...], int]:
    """Return the summary that a call saw, and how many of the messages after it it did not see."""
    if turn.compaction is None:
        return (), left_out
    return (() if left_out else (turn.compaction.message,)), max(0, left_out - 1)


def note_tool(turn: Turn, tool_call_id: str, step: Step) -> Turn:
    """Return the turn with what is known about a tool's result, and the chats of its subagents."""
    if not turn.calls:
        return turn
    facts = step.facts or StepFacts()
    told = {"tool": step.name, "state": step.state, "ms": round(facts.ms, 1)}
    children: list[str | None] = [graph_name(lane, 0) for lane in facts.children]
    links = tuple(
        Link(
            graph=graph_name(turn.lane, turn.epoch),
            call=turn.calls[-1].id,
            tool_call_id=tool_call_id,
            child=child,
            metadata=told,
        )
        for child in children or [None]
    )
    return msgspec.structs.replace(turn, links=(*turn.links, *links))
