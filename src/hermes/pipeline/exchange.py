"""What a turn has to do next, read off what was exchanged so far; the same after a resume."""

from typing import TypeVar

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.continuations import GO_ON, answer_text, is_go_on
from hermes.message.parts import TextPart, ToolCallPart, ToolResultPart, tool_calls_of
from hermes.message.thoughts import without_thoughts
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


def has_words(message: ChatMessage) -> bool:
    """Return whether an answer holds text for the person, or tool calls."""
    return bool(tool_calls_of(message.parts) or without_thoughts(message.text).strip())


def with_answer(turn: Turn, message: ChatMessage, *, ordinal: int) -> Turn:
    """Return the turn with a model's answer, and the note that asks for the rest of it."""
    turn = turn.plus(message, ordinal=ordinal)
    return turn.plus(GO_ON, ordinal=None) if turn.rest == "asked" else turn


def has_answer(turn: Turn) -> bool:
    """Return whether the model has answered anything in the turn."""
    return any(entry.message.role == "assistant" for entry in turn.exchanged)


def with_claimed(turn: Turn, message_id: str, said: ChatMessage, *, ordinal: int) -> Turn:
    """Return the turn with a message that joined it while it ran.

    One that came before any answer is as much part of what was asked as the turn's own.
    """
    joined = turn.joined if has_answer(turn) else (*turn.joined, message_id)
    return msgspec.structs.replace(
        turn.plus(said, ordinal=ordinal),
        claimed=(*turn.claimed, message_id),
        joined=joined,
    )


def is_going_on(turn: Turn) -> bool:
    """Return whether the next model call continues an answer that reached its length limit."""
    return bool(turn.exchanged) and is_go_on(turn.exchanged[-1].message)


def is_continued(turn: Turn) -> bool:
    """Return whether the turn's last answer was written by several calls."""
    return len(turn.exchanged) > 1 and is_go_on(turn.exchanged[-2].message)


def said_so_far(turn: Turn) -> str:
    """Return the text of the turn's last answer, joined if it was continued."""
    return answer_text([entry.message for entry in turn.exchanged])


def continuations(turn: Turn) -> int:
    """Return how often the rest of an answer was asked for."""
    return sum(is_go_on(entry.message) for entry in turn.exchanged)


def left_at(turn: Turn, text: str) -> Turn:
    """Return the turn whose answer ends with `text`, because its continuation failed."""
    more = text[len(said_so_far(turn)) :]
    turn = msgspec.structs.replace(turn, rest="left")
    if more.strip():
        return turn.plus(ChatMessage("assistant", (TextPart(more),)), ordinal=None)
    return msgspec.structs.replace(turn, exchanged=turn.exchanged[:-1])


def rounds_used(turn: Turn) -> int:
    """Return how many model answers asked for tools."""
    return sum(bool(tool_calls_of(entry.message.parts)) for entry in turn.exchanged)
