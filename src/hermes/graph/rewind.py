"""Removes or replaces the end of a stored branch, or returns it to an earlier state.

Like `growth`, it does not read the whole past: the log is read from its end as far as the change
reaches. What is replaced stays as a version. Pure: the caller stores the batch and confirms it.
"""

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Many

import msgspec

from hermes.graph.blob import Blob
from hermes.graph.chunk import Chunk
from hermes.graph.growth import CallView, Growth, Tip, take_calls
from hermes.graph.marks import SEEN, expand, runs_of
from hermes.graph.persistence import collect
from hermes.graph.records import Call, Edit, EditKind, Move, Origin
from hermes.graph.sequence import Sequence
from hermes.graph.storage import Batch

# The log of a branch from a version on, newest first.
Log = Callable[[int], Iterator[Move]]


class Span(msgspec.Struct, frozen=True):
    """Messages `start` to `stop` of a branch, all put there by one version."""

    start: int
    stop: int
    move: Move


class ChangeAuthor(msgspec.Struct, frozen=True):
    """Who changes a conversation, why, and when."""

    actor: str
    reason: str
    at: float


def spans(log: Log, version: int, *, length: int, to_origins: bool = True) -> Iterator[Span]:
    """Iterate over the messages of a version from the last on, by the version that added them.

    Messages that came back from an earlier state belong to the versions that first added them or,
    without `to_origins`, to the version that brought them back.
    """
    owners = spans_and_repeats(log, version, length=length, to_origins=to_origins)
    return (span for span in owners if span.start < span.stop)


def spans_and_repeats(
    log: Log, version: int, *, length: int, to_origins: bool = True
) -> Iterator[Span]:
    """Iterate like `spans`; an empty span is a retry that ended at its messages and added none.

    Such a retry repeated what was there, or only the beginning of it.
    """
    moves, limit = log(version), length
    while limit > 0:
        move = next(moves, None)
        if move is None:
            return
        edit = move.edit
        if to_origins and move.content != move.number:
            moves = log(move.content)
        elif edit.added and edit.start < limit:
            yield Span(edit.start, limit, move)
            limit = edit.start
        elif edit.kind == "retry" and not edit.added and edit.start == limit:
            yield Span(limit, limit, move)


def marks_from(start: int, tip: Tip, *, log: Log, calls: Iterable[Call]) -> bytes:
    """Return the marks of the messages of a tip from `start` on; `calls` are newest first."""
    marks = bytearray(len(tip) - start)
    born: list[Span] = []
    for span in spans(log, tip.version, length=len(tip), to_origins=False):
        if span.stop <= start:
            break
        born.append(span)
        edit = span.move.edit
        known = (expand(edit.now) or bytes(edit.added))[: span.stop - edit.start]
        skipped = max(0, start - span.start)
        place = span.start + skipped - start
        marks[place : span.stop - start] = known[skipped:]
    oldest = born[-1].move.number if born else tip.version + 1
    for call in calls:
        if call.version < oldest:
            break
        _mark_seen(marks, call, start=start, born=born)
    return bytes(marks)


def _mark_seen(marks: bytearray, call: Call, *, start: int, born: Iterable[Span]) -> None:
    for span in born:
        if span.move.number <= call.version:
            for index in range(max(span.start, start, call.start), min(span.stop, call.shared)):
                marks[index - start] = marks[index - start] or SEEN


def keep_state(tip: Tip, name: str, who: ChangeAuthor) -> Batch:
    """Return the batch that saves the current state of a branch under a name."""
    move = Move(
        graph=tip.graph,
        branch=name,
        number=0,
        before=None,
        after=tip.sequence.root,
        length=len(tip),
        content=0,
        edit=Edit("branch", 0, 0, 0, actor=who.actor, reason=who.reason),
        origin=Origin(tip.branch, tip.version),
        at=who.at,
    )
    batch = _new_batch()
    batch.moves.append(move)
    return batch


def go_to(
    tip: Tip, state: Sequence, who: ChangeAuthor, *, content: int | None, was: bytes, now: bytes
) -> Growth:
    """Return the branch with the messages of a state; `content` is the version that had them.

    `was` and `now` are the marks of the messages that are removed and that come back.
    """
    parallel = any(was)
    start = len(tip) - len(was)
    edit = _edit("switch", start, who, was=was, now=now, parallel=parallel)
    return _grown(tip, state, edit, batch=_new_batch(), who=who, content=content)


def replace_end(
    tip: Tip,
    keep: int,
    blobs: Many[Blob],
    *,
    who: ChangeAuthor,
    was: bytes,
    views: Iterable[CallView] = (),
    kind: EditKind = "retry",
) -> Growth:
    """Return the branch with `blobs` after its first `keep` messages, and the calls.

    `kind` is what the change is called if there are `blobs`. `was` are the marks of the removed
    messages. In a retry, a message that is repeated unchanged stays: that is not a change.
    """
    batch, fresh, sequence = _new_batch(), list[Chunk](), tip.sequence.take(keep)
    for blob in blobs:
        sequence = sequence.append(blob)
    # What the last call saw may be among the removed messages.
    base = msgspec.structs.replace(tip, seen=None)
    marks, seen = take_calls(
        views, base, sequence, blobs=blobs, first=keep, batch=batch, fresh=fresh
    )
    left = [blob.id for blob in tip.sequence.names(keep, len(tip))]
    came = [blob.id for blob in blobs]
    # Another version of a message is a message of its own, also if its words are the same.
    same = _alike(left, came) if kind == "retry" else 0
    left, came, was, now = left[same:], came[same:], was[same:], marks[same:]
    parallel = any(was)
    if len(left) == len(came):
        parallel = any(m and a != b for m, a, b in zip(was, left, came, strict=True))
    named: EditKind = kind if blobs else "delete"
    edit = _edit(named, keep + same, who, was=was, now=now, parallel=parallel)
    grown = _grown(tip, sequence, edit, batch=batch, who=who)
    fresh.extend(grown.fresh)
    grown_tip = msgspec.structs.replace(grown.tip, seen=seen)
    return msgspec.structs.replace(grown, tip=grown_tip, blobs=blobs, fresh=fresh)


def _edit(
    kind: EditKind, start: int, who: ChangeAuthor, *, was: bytes, now: bytes, parallel: bool
) -> Edit:
    return Edit(
        kind=kind,
        start=start,
        removed=len(was),
        added=len(now),
        actor=who.actor,
        reason=who.reason,
        parallel=parallel,
        was=runs_of(was),
        now=runs_of(now),
    )


def _grown(
    tip: Tip,
    sequence: Sequence,
    edit: Edit,
    *,
    batch: Batch,
    who: ChangeAuthor,
    content: int | None = None,
) -> Growth:
    version, fresh = tip.version + 1, list[Chunk]()
    collect(sequence, batch, fresh)
    move = Move(
        graph=tip.graph,
        branch=tip.branch,
        number=version,
        before=tip.sequence.root,
        after=sequence.root,
        length=len(sequence),
        content=version if content is None else content,
        edit=edit,
        at=who.at,
    )
    batch.moves.append(move)
    return Growth(Tip(tip.graph, tip.branch, sequence, version), (), batch, fresh)


def _new_batch() -> Batch:
    return Batch(blobs={}, chunks={}, moves=[], calls=[], links=[])


def _alike(one: Many[bytes], two: Many[bytes]) -> int:
    same = 0
    while same < min(len(one), len(two)) and one[same] == two[same]:
        same += 1
    return same
