"""What a turn has to do next, read off what was exchanged so far; the same after a resume."""

from typing import TypeVar

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import ToolCallPart, ToolResultPart, tool_calls_of
from hermes.pipeline.turn import Turn
from hermes.ports.transcripts import TranscriptEntry
from hermes.ports.turns import ToolUse

T = TypeVar("T")


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


def call_number(turn: Turn, call: ToolCallPart) -> int:
    """Return which of the turn's tool calls this pending one is, from 1 on."""
    asked = [tool_calls_of(entry.message.parts) for entry in turn.exchanged]
    rounds = [[one.id for one in calls] for calls in asked if calls]
    return sum(map(len, rounds[:-1])) + rounds[-1].index(call.id) + 1


def with_result(
    turn: Turn, result: ChatMessage, *, call: ToolCallPart, use: ToolUse, ordinal: int
) -> Turn:
    """Return the turn with the result of a pending call, in the order of the calls."""
    later = _results_behind(turn, call)
    exchanged = _put(turn.exchanged, TranscriptEntry(result, ordinal), later)
    return msgspec.structs.replace(
        turn, exchanged=exchanged, tool_uses=_put(turn.tool_uses, use, later)
    )


def _results_behind(turn: Turn, call: ToolCallPart) -> int:
    """Return how many calls that were made after this one have their results already."""
    waiting = {one.id for one in pending_calls(turn)}
    asked = next(
        calls
        for entry in reversed(turn.exchanged)
        if (calls := [one.id for one in tool_calls_of(entry.message.parts)])
    )
    return sum(one not in waiting for one in asked[asked.index(call.id) + 1 :])


def _put(items: tuple[T, ...], item: T, behind: int) -> tuple[T, ...]:
    place = len(items) - behind
    return (*items[:place], item, *items[place:])


def is_answered(turn: Turn) -> bool:
    """Return whether the model has had its last word."""
    if not turn.exchanged:
        return False
    last = turn.exchanged[-1].message
    return last.role == "assistant" and not tool_calls_of(last.parts)


def rounds_used(turn: Turn) -> int:
    """Return how many model answers asked for tools."""
    return sum(bool(tool_calls_of(entry.message.parts)) for entry in turn.exchanged)
