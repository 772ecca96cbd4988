"""What a turn has to do next, read off what was exchanged so far; the same after a resume."""

from hermes.message.parts import ToolCallPart, ToolResultPart, tool_calls_of
from hermes.pipeline.turn import Turn


def pending_call(turn: Turn) -> ToolCallPart | None:
    """Return the first tool call of the last answer that has no result yet."""
    return next(iter(pending_calls(turn)), None)


def pending_calls(turn: Turn) -> tuple[ToolCallPart, ...]:
    """Return the tool calls of the last answer that have no result yet.

    Only results behind that answer count, since models reuse call ids from round to round.
    """
    answered: set[str] = set()
    for entry in reversed(turn.exchanged):
        parts = entry.message.parts
        answered.update(part.call_id for part in parts if isinstance(part, ToolResultPart))
        calls = tool_calls_of(parts)
        if calls:
            return tuple(call for call in calls if call.id not in answered)
    return ()


def is_answered(turn: Turn) -> bool:
    """Tell whether the model has had its last word."""
    if not turn.exchanged:
        return False
    last = turn.exchanged[-1].message
    return last.role == "assistant" and not tool_calls_of(last.parts)


def rounds_used(turn: Turn) -> int:
    """Return how many model answers asked for tools."""
    return sum(bool(tool_calls_of(entry.message.parts)) for entry in turn.exchanged)
