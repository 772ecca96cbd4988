"""Preference pairs: an answer that a person edited or requested again, against the one before it.

Both answer the same prompt: what the call saw. Only the final version of an edit counts, and an
undone edit does not count. Two answers to one context are a pair, too, if people liked one and
rejected the other; a thumb weighs more than an edit.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from hermes.errors import HermesError
from hermes.graph.blob import Blob
from hermes.graph.exports.kept_calls import (
    AnsweredCall,
    Verdicts,
    check,
    keep_calls,
    open_call,
    unreadable,
)
from hermes.graph.exports.rated_answers import pair_sheet, rated_pairs
from hermes.graph.exports.report import Report, UnfitRow
from hermes.graph.exports.sequences import Write
from hermes.graph.exports.sheet import Row, TrainingSheet
from hermes.graph.message_graph import MessageGraph
from hermes.graph.records import Call, Edge, Edit
from hermes.graph.roots import message_id
from hermes.graph.sequence import Sequence as Blobs

_NO_REWRITING = frozenset({"undo", "redo", "squish", "expand", "switch"})
# A person who undoes an answer, or leaves it for an earlier state, has not chosen it.
_NO_CHOICE = frozenset({"delete", "switch"})


def pair_rows(
    branches: Sequence[MessageGraph], blank: TrainingSheet, *, write: Write, report: Report
) -> Iterator[Row]:
    """Iterate over the pairs of one graph, each once."""
    calls = keep_calls(branches, report)
    kept, told, verdicts = _Calls(branches, calls), set(), Verdicts(branches)
    for liked, rejected in rated_pairs(calls, verdicts):
        told.add((liked.context, liked.response, rejected.response))
        try:
            row = write(pair_sheet(branches, blank, liked=liked, rejected=rejected))
        except UnfitRow as problem:
            report.refuse(liked.id, problem)
            continue
        report.rows += 1
        report.trained += 1
        yield row
    for graph in branches:
        for edge in graph.edges():
            try:
                found = _pair(graph, edge, kept)
                if found is None:
                    continue
                call, chosen = found
                if _contradicts(kept, call, chosen, verdicts=verdicts):
                    raise UnfitRow("rated_down", "People rated these two answers the other way.")
                name = (call.context, chosen.id, edge.before)
                if name in told:
                    continue
                told.add(name)
                row = write(_sheet(branches, blank, call, chosen=chosen))
            except UnfitRow as problem:
                report.refuse(f"{graph.branch_name}@{edge.version}", problem)
                continue
            report.rows += 1
            report.trained += 1
            yield row


class _Calls:
    """The calls of a graph, by what they wrote and by what they saw."""

    def __init__(self, branches: Sequence[MessageGraph], calls: Sequence[Call]) -> None:
        self.branches = branches
        self.wrote: defaultdict[bytes | None, list[Call]] = defaultdict(list)
        self.answers: defaultdict[bytes, set[bytes | None]] = defaultdict(set)
        for call in calls:
            self.wrote[call.response].append(call)
            self.answers[call.context].add(call.response)


def _contradicts(kept: _Calls, call: Call, chosen: Blob, *, verdicts: Verdicts) -> bool:
    """Return whether people rejected the chosen answer, or liked the one that it replaced."""
    again = [one for one in kept.wrote[chosen.id] if one.context == call.context]
    return verdicts.is_up(call) or any(map(verdicts.is_down, again))


def _pair(graph: MessageGraph, edge: Edge, kept: _Calls) -> tuple[Call, Blob] | None:
    """Return the call whose answer an edge rewrote, and the final version of that answer."""
    edit = graph.versions()[edge.version].edit
    if edit.kind in _NO_REWRITING or edit.removed != edit.added:
        return None
    if edit.kind == "retry" and edit.added > 1:
        # It is unknown which of the steps made the answer better.
        return None
    wrote = [one for one in kept.wrote[edge.before] if one.shared == edge.index]
    if not wrote:
        return None
    try:
        before = graph.at(edge.version - 1).sequence
        same = [one for one in wrote if _has_prompt(kept, one, before, stop=edge.index)]
        chosen = _settled(graph, edge)
    except (HermesError, msgspec.DecodeError) as problem:
        raise unreadable(problem) from problem
    if not same:
        raise UnfitRow(
            "prompt_changed",
            f"Message {edge.index} was rewritten after the messages before it had changed: the "
            "two answers have no common prompt.",
        )
    call = same[0]
    if chosen is None or chosen.id == edge.before:
        return None
    # A repeated request answers the same prompt; a person's own text is not a sample.
    is_sample = chosen.id in kept.answers[call.context]
    return (call, chosen) if is_sample == (edit.kind == "retry") else None


def _has_prompt(kept: _Calls, call: Call, branch: Blobs, *, stop: int) -> bool:
    """Return whether the branch still contains what a call saw of it."""
    seen = open_call(kept.branches, call).seen
    return seen.common_prefix(branch, call.lead, other_start=call.start) >= stop - call.start


def _settled(graph: MessageGraph, edge: Edge) -> Blob | None:
    """Return the final message at the place of an edge, if its prompt is the same."""
    found: Blob | None = graph.at(edge.version).sequence.blob(edge.index)
    is_retry = graph.versions()[edge.version].edit.kind == "retry"
    for version in graph.versions()[edge.version + 1 :]:
        edit = version.edit
        if edit.start > edge.index:
            continue
        if is_retry and _leaves(edit, edge.index):
            return None
        if edit.start < edge.index or edit.summary is not None or not edit.removed:
            return found
        if edit.added == 0:
            return None
        found = graph.at(version).sequence.blob(edge.index)
    return found


def _leaves(edit: Edit, index: int) -> bool:
    """Return whether an edit removes a requested-again message or turns it into steps."""
    if edit.kind == "retry":
        return edit.added > 1
    return edit.kind in _NO_CHOICE and edit.start + edit.removed > index


def _sheet(
    branches: Sequence[MessageGraph], blank: TrainingSheet, call: Call, *, chosen: Blob
) -> TrainingSheet:
    kept: AnsweredCall = open_call(branches, call)
    checked, edited = check(branches, kept), chosen.message()
    if message_id(edited, kept.whole.reader.hasher) != chosen.id:
        raise UnfitRow("differs", f"Blob {chosen.id.hex()} does not match its name.")
    if edited["role"] not in {"assistant", "model"}:
        raise UnfitRow("unfit", f"The answer was rewritten into the role {edited['role']!r}.")
    seen = len(kept.seen)
    return msgspec.structs.replace(
        blank,
        model=kept.call.model,
        messages=(*checked.messages[:-1], edited, kept.answer),
        seen=seen,
        trained=(seen,),
        tools=checked.tools,
    )
