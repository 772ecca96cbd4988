"""Merges the calls of a graph into sequences: the longest first, and what it begins with is in it.

A sequence holds exactly what its calls saw and answered. An answer that several sequences share is
trained in the first one that could be written; the others show it without loss.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from hermes.errors import HermesError
from hermes.graph.exports.kept_calls import Checked, Kept, check, keep_calls, unreadable
from hermes.graph.exports.report import Report, Unfit
from hermes.graph.exports.sheet import Row, Sheet
from hermes.graph.message_graph import MessageGraph

Write = Callable[[Sheet], Row]


def sequence_rows(
    branches: Sequence[MessageGraph], blank: Sheet, *, merge: bool, write: Write, report: Report
) -> Iterator[Row]:
    """Iterate over the rows of one graph; calls of another model or other tools never share one."""
    groups: dict[Any, list[Kept]] = {}
    for kept in keep_calls(branches, report):
        groups.setdefault((kept.call.model, kept.call.tools), []).append(kept)
    for group in groups.values():
        # Stable, so of two that are as long the older comes first.
        group.sort(key=lambda kept: -len(kept.whole))
        yield from _group_rows(
            group, branches, blank=blank, merge=merge, write=write, report=report
        )


def _group_rows(
    group: list[Kept],
    branches: Sequence[MessageGraph],
    *,
    blank: Sheet,
    merge: bool,
    write: Write,
    report: Report,
) -> Iterator[Row]:
    covered: set[bytes] = set()
    while group:
        # Taken out, since what is read of it stays in memory with it.
        kept = group.pop(0)
        if kept.whole.root in covered:
            continue
        try:
            inside = [kept, *_beginnings(kept, group if merge else [])]
            new = [one for one in inside if one.whole.root not in covered]
            row = write(_sheet(blank, kept, check(branches, kept), trained=new))
        except Unfit as problem:
            report.refuse(kept.call.id, problem)
            continue
        covered.update(one.whole.root for one in inside)
        report.rows += 1
        report.trained += len({len(one.seen) for one in new})
        yield row


def _beginnings(kept: Kept, others: list[Kept]) -> list[Kept]:
    """Return those of `others` that `kept` begins with."""
    reader = kept.whole.reader
    try:
        names = [blob.id for leaf in kept.whole.leaves() for blob in reader.blobs(leaf)]
    except HermesError as problem:
        raise unreadable(problem) from problem
    # Most can be told by one name; only the rest is compared.
    likely = [one for one in others if names[len(one.seen)] == one.call.response]
    return [one for one in likely if _begins_with(kept, one)]


def _begins_with(kept: Kept, one: Kept) -> bool:
    try:
        return kept.whole.starts_with(one.whole)
    except HermesError:
        # It cannot be read: it is refused when its own turn comes.
        return False


def _sheet(blank: Sheet, kept: Kept, checked: Checked, *, trained: Iterable[Kept]) -> Sheet:
    # The oldest of equal calls speaks for them, so it is written last.
    ids = {len(one.seen): one.call.token_ids for one in reversed(list(trained))}
    return msgspec.structs.replace(
        blank,
        model=kept.call.model,
        messages=checked.messages,
        seen=len(kept.seen),
        trained=tuple(sorted(ids)),
        tools=checked.tools,
        token_ids={index: found for index, found in ids.items() if found},
    )
