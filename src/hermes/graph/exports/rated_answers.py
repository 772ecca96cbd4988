"""Rows from thumbs: each rated answer with its label, and pairs of answers to one context.

Both answers of a pair were sampled, for exactly the same messages and tools; people liked one and
rejected the other.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from hermes.graph.exports.kept_calls import (
    AnsweredCall,
    Pair,
    Verdicts,
    check,
    keep_calls,
    open_call,
    pair_of,
)
from hermes.graph.exports.report import Report, UnfitRow
from hermes.graph.exports.sequences import Write
from hermes.graph.exports.sheet import Row, TrainingSheet
from hermes.graph.message_graph import MessageGraph
from hermes.graph.records import Call


def labelled_rows(
    branches: Sequence[MessageGraph], blank: TrainingSheet, *, write: Write, report: Report
) -> Iterator[Row]:
    """Iterate over the rated answers of one graph, each once, with what people said of them."""
    verdicts, told = Verdicts(branches), set[Pair]()
    for call in keep_calls(branches, report):
        is_up = verdicts.is_up(call)
        if pair_of(call) in told or not (is_up or verdicts.is_down(call)):
            continue
        told.add(pair_of(call))
        try:
            row = write(_sheet(branches, blank, open_call(branches, call), label=is_up))
        except UnfitRow as problem:
            report.refuse(call.id, problem)
            continue
        report.rows += 1
        report.trained += 1
        yield row


def rated_pairs(calls: Sequence[Call], verdicts: Verdicts) -> Iterator[tuple[Call, Call]]:
    """Iterate over answers that people liked, each with one to the same context they rejected."""
    liked: defaultdict[tuple[bytes, bytes | None], dict[bytes | None, Call]] = defaultdict(dict)
    rejected: defaultdict[tuple[bytes, bytes | None], dict[bytes | None, Call]] = defaultdict(dict)
    for call in calls:
        same = (call.context, call.tools)
        if verdicts.is_up(call):
            liked[same].setdefault(call.response, call)
        elif verdicts.is_down(call):
            rejected[same].setdefault(call.response, call)
    for same, up in liked.items():
        for one in up.values():
            yield from ((one, other) for other in rejected[same].values())


def pair_sheet(
    branches: Sequence[MessageGraph], blank: TrainingSheet, *, liked: Call, rejected: Call
) -> TrainingSheet:
    """Return both answers after what they answer."""
    kept = open_call(branches, liked)
    sheet = _sheet(branches, blank, kept, label=None)
    other = check(branches, open_call(branches, rejected))
    return msgspec.structs.replace(sheet, messages=(*sheet.messages, other.messages[-1]))


def _sheet(
    branches: Sequence[MessageGraph],
    blank: TrainingSheet,
    kept: AnsweredCall,
    *,
    label: bool | None,
) -> TrainingSheet:
    checked, seen = check(branches, kept), len(kept.seen)
    return msgspec.structs.replace(
        blank,
        model=kept.call.model,
        messages=checked.messages,
        seen=seen,
        trained=(seen,),
        tools=checked.tools,
        label=label,
    )
