"""Merges the calls of a graph into sequences, longest first; a sequence contains its prefixes.

A sequence holds exactly what its calls saw and answered. An answer that several sequences share is
trained in the first one that could be written; the others show it without loss.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from hermes.errors import HermesError
from hermes.graph.exports.kept_calls import (
    AnsweredCall,
    Pair,
    RecordedCall,
    Verdicts,
    check,
    keep_calls,
    open_call,
    pair_of,
    unreadable,
)
from hermes.graph.exports.report import Report, UnfitRow
from hermes.graph.exports.sheet import Row, TrainingSheet
from hermes.graph.message_graph import MessageGraph
from hermes.graph.records import Call

Write = Callable[[TrainingSheet], Row]


def sequence_rows(
    branches: Sequence[MessageGraph],
    blank: TrainingSheet,
    *,
    merge: bool,
    write: Write,
    report: Report,
) -> Iterator[Row]:
    """Iterate over the rows of one graph; one row has one model and one set of tools."""
    verdicts = Verdicts(branches)
    groups: dict[Any, list[Call]] = {}
    for call in keep_calls(branches, report):
        groups.setdefault((call.model, call.tools), []).append(call)
    for group in groups.values():
        # The sort is stable: of two of equal length the older comes first.
        group.sort(key=lambda call: -call.length)
        yield from _group_rows(
            group,
            branches,
            verdicts=verdicts,
            blank=blank,
            merge=merge,
            write=write,
            report=report,
        )


def _group_rows(
    group: list[Call],
    branches: Sequence[MessageGraph],
    *,
    verdicts: Verdicts,
    blank: TrainingSheet,
    merge: bool,
    write: Write,
    report: Report,
) -> Iterator[Row]:
    covered: set[Pair] = set()
    waiting = _Waiting(group if merge else ())
    for call in group:
        waiting.drop(call)
        if pair_of(call) in covered:
            continue
        try:
            kept = open_call(branches, call)
            inside = [call, *waiting.beginnings_of(kept)]
            new = [one for one in inside if pair_of(one) not in covered]
            rejected = [one for one in new if verdicts.is_down(one)]
            new = [one for one in new if one not in rejected]
            if not new:
                raise _rated_down()
            row = write(_sheet(blank, kept, check(branches, kept), trained=new))
        except UnfitRow as problem:
            report.refuse(call.id, problem)
            continue
        covered.update(map(pair_of, inside))
        for one in rejected:
            report.refuse(one.id, _rated_down())
        report.rows += 1
        report.trained += len({one.length for one in new})
        yield row


def _rated_down() -> UnfitRow:
    return UnfitRow("rated_down", "People gave this answer a thumb down, so it is not trained.")


class _Waiting:
    """The calls that are not in a row yet, by the position and name of their answer."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self._calls: defaultdict[tuple[int, bytes | None], list[Call]] = defaultdict(list)
        for call in calls:
            self._calls[call.length, call.response].append(call)

    def drop(self, call: Call) -> None:
        """Remove a call that was handled."""
        place = (call.length, call.response)
        if place in self._calls:
            self._calls[place].remove(call)

    def beginnings_of(self, kept: AnsweredCall) -> list[Call]:
        """Return the calls whose context and answer `kept` begins with."""
        if not self._calls:
            return []
        whole, found = kept.whole, list[Call]()
        try:
            for place, blob in enumerate(whole.names(0, len(whole))):
                likely = self._calls.get((place, blob.id))
                # Equal messages have equal roots, so the others need no reading.
                root = whole.take(place).root if likely else b""
                found += [one for one in likely or () if one.context == root]
        except HermesError as problem:
            raise unreadable(problem) from problem
        return found


def _sheet(
    blank: TrainingSheet, kept: AnsweredCall, checked: RecordedCall, *, trained: Iterable[Call]
) -> TrainingSheet:
    # The oldest of equal calls represents them, so it is written last.
    ids = {one.length: one.token_ids for one in reversed(list(trained))}
    return msgspec.structs.replace(
        blank,
        model=kept.call.model,
        messages=checked.messages,
        seen=len(kept.seen),
        trained=tuple(sorted(ids)),
        tools=checked.tools,
        token_ids={index: found for index, found in ids.items() if found},
    )
