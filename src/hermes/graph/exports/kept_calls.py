"""The calls of one graph for an export: read, and checked against what they recorded.

Branches of a graph share its calls; each call is read on the branch that made it, if available.
Nothing is trusted: names are recomputed from what was read. What is read for a call is released
with its row, because all calls of a graph with their contexts may not fit into memory.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from hermes.errors import HermesError, NotFound, PersonErased
from hermes.graph.blob import Blob, Message, canonical, canonical_value
from hermes.graph.exports.report import Reason, Report, UnfitRow
from hermes.graph.message_graph import MessageGraph
from hermes.graph.ratings import verdicts
from hermes.graph.records import REPEATS, Call
from hermes.graph.roots import context_root, message_id
from hermes.graph.sequence import Sequence as Blobs
from hermes.graph.tool_groups import calls_in, results_in

# The names of what a call saw and wrote: calls with the same pair are one sample.
Pair = tuple[bytes, bytes | None]


class AnsweredCall(msgspec.Struct, frozen=True, eq=False):
    """A call that a model answered; `whole` is what it saw and what it wrote, in one sequence."""

    call: Call
    answer: Message
    seen: Blobs
    whole: Blobs


class RecordedCall(msgspec.Struct, frozen=True, eq=False):
    """The messages of a call, answer last, and its tools, exactly as recorded."""

    messages: tuple[Message, ...]
    tools: list[Any] | None  # Any: JSON as passed to the call


def calls_of(branches: Sequence[MessageGraph]) -> list[Call]:
    """Return the calls of a graph, each once, oldest first.

    A call that repeats another one as a trial is among them only with the branch that made it.
    """
    names = {graph.branch_name for graph in branches}
    found = {call.id: call for graph in branches for call in graph.calls()}
    return [one for one in found.values() if one.branch in names or REPEATS not in one.metadata]


class Verdicts:
    """What people said of answers; equal answers to equal contexts share it."""

    def __init__(self, branches: Sequence[MessageGraph]) -> None:
        # Branches have the thumbs of their whole graph; one may have been opened later than another.
        thumbs = [graph.feedback() for graph in branches]
        longest = max(thumbs, key=len)
        by_call = verdicts(longest)
        self._of: dict[Pair, bool] = {}
        for call in calls_of(branches):
            if call.id in by_call:
                pair = pair_of(call)
                # One thumb down is enough to leave an answer out.
                self._of[pair] = self._of.get(pair, True) and by_call[call.id]

    def is_down(self, call: Call) -> bool:
        """Return whether people rejected what a call wrote."""
        return self._of.get(pair_of(call)) is False

    def is_up(self, call: Call) -> bool:
        """Return whether people liked what a call wrote."""
        return self._of.get(pair_of(call)) is True


def pair_of(call: Call) -> Pair:
    """Return the names of what a call saw and what it wrote."""
    return call.context, call.response


def keep_calls(branches: Sequence[MessageGraph], report: Report) -> list[Call]:
    """Return the calls that a model answered; report the others as refused."""
    found = []
    for call in calls_of(branches):
        try:
            found.append(open_call(branches, call).call)
        except UnfitRow as problem:
            report.refuse(call.id, problem)
    return found


def check(branches: Sequence[MessageGraph], kept: AnsweredCall) -> RecordedCall:
    """Read what a call saw, wrote and was given; raises UnfitRow if it differs from the record."""
    call, hasher = kept.call, kept.whole.reader.hasher
    try:
        seen = [blob.message() for blob in kept.seen.blobs()]
        tools = home_of(branches, call).tools_of(call)
        named = tools is not None and hasher.tools(canonical_value(tools))
        same = (
            len(seen) == call.length
            and context_root(seen, hasher) == call.context
            and message_id(kept.answer, hasher) == call.response
            and (named or None) == call.tools
        )
    except (HermesError, msgspec.DecodeError) as problem:
        raise unreadable(problem) from problem
    if not same:
        raise UnfitRow(
            "differs", f"The stored messages of call {call.id} are not those that it recorded."
        )
    messages = (*seen, kept.answer)
    _check_tool_calls(messages)
    return RecordedCall(messages, tools)


def home_of(branches: Sequence[MessageGraph], call: Call) -> MessageGraph:
    """Return the branch that made a call, or another of its graph."""
    return next((one for one in branches if one.branch_name == call.branch), branches[0])


def unreadable(problem: Exception) -> UnfitRow:
    """Return why something that a call refers to could not be read."""
    reason: Reason = "differs"
    if isinstance(problem, PersonErased):
        reason = "erased"
    elif isinstance(problem, NotFound):
        reason = "missing"
    return UnfitRow(reason, str(problem))


def open_call(branches: Sequence[MessageGraph], call: Call) -> AnsweredCall:
    """Return what a call saw and wrote; raises UnfitRow if it has no readable answer."""
    if call.response is None:
        raise UnfitRow("no_answer", f"Call {call.id} has no answer.")
    if not call.sampled:
        raise UnfitRow("not_sampled", f"The answer of call {call.id} was not sampled from a model.")
    graph = home_of(branches, call)
    try:
        seen, answer = graph.at(call).sequence, graph.answer_of(call) or {}
        whole = seen.append(Blob(call.response, canonical(answer)))
    except (HermesError, msgspec.DecodeError) as problem:
        raise unreadable(problem) from problem
    if answer["role"] not in {"assistant", "model"}:
        raise UnfitRow("unfit", f"The answer of call {call.id} has the role {answer['role']!r}.")
    return AnsweredCall(call, answer, seen, whole)


def _check_tool_calls(messages: Iterable[Message]) -> None:
    waiting: set[str] = set()
    for index, message in enumerate(messages):
        if waiting and message["role"] in {"assistant", "model"}:
            raise UnfitRow(
                "open_tool_call",
                f"Message {index} is an answer, but the tool call {sorted(waiting)[0]!r} before "
                "it has no result.",
            )
        waiting.difference_update(results_in(message))
        waiting.update(calls_in(message))
