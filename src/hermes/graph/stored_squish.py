"""Compacts the beginning of a stored branch without reading its whole past.

The compaction is two versions of a branch of its own: the messages as they were, and then a summary
in the place of some of them. The branch that a session grows on stays complete, so that its indices,
its history and its exports are what they were. Pure: the caller stores the batch.
"""

from collections.abc import Iterator

import msgspec

from hermes.errors import BadRequest
from hermes.graph.blob import Blob
from hermes.graph.chunk import Chunk
from hermes.graph.growth import Tip
from hermes.graph.marks import expand, runs_of
from hermes.graph.persistence import collect
from hermes.graph.records import Edit, Move, Origin, Summary
from hermes.graph.rewind import ChangeAuthor
from hermes.graph.sequence import Sequence
from hermes.graph.storage import Batch


class StoredSummary(msgspec.Struct, frozen=True):
    """A compaction as the log has it: what it replaces, its version, and the marks of that."""

    summary: Summary
    version: int
    was: bytes


def stored_summaries(log: Iterator[Move]) -> Iterator[StoredSummary]:
    """Iterate over the compactions in a log, in its order."""
    for move in log:
        told = move.edit.summary
        if told is not None and move.edit.kind == "squish":
            was = expand(move.edit.was) or bytes(told.stop - told.start)
            yield StoredSummary(told, move.number, was)


def still_holds(told: Summary, tip: Tip, *, length: int) -> bool:
    """Return whether a branch of `length` messages still begins with what a summary replaces."""
    return told.stop < length and tip.sequence.take(told.stop).root == told.source


def squish_start(
    tip: Tip,
    start: int,
    stop: int,
    *,
    summary: Blob,
    branch: Tip,
    who: ChangeAuthor,
    was: bytes,
) -> Batch:
    """Return what puts `summary` in the place of messages `start` to `stop` of `tip` on `branch`.

    `was` are the marks of these messages. Whoever calls has chosen a cut between tool groups.
    """
    if not 0 <= start < stop <= len(tip):
        raise BadRequest(
            f"A summary replaces at least one of the {len(tip)} messages of {tip.graph!r}; the range "
            f"{start} to {stop} holds none."
        )
    source = tip.sequence.take(stop)
    made = source.splice(start, stop, (summary,))
    batch, fresh = Batch(blobs={}, chunks={}, moves=[], calls=[], links=[]), list[Chunk]()
    collect(source, batch, fresh)
    collect(made, batch, fresh)
    batch.moves.append(_as_they_were(tip, source, branch=branch, who=who, start=start, was=was))
    told = Summary(summary.id, source.root, start, stop)
    edit = Edit(
        kind="squish",
        start=start,
        removed=stop - start,
        added=1,
        actor=who.actor,
        reason=who.reason,
        parallel=any(was),
        was=runs_of(was),
        summary=told,
    )
    batch.moves.append(_move(branch, 2, made, edit=edit, who=who, before=source.root))
    return batch


def _as_they_were(
    tip: Tip, source: Sequence, *, branch: Tip, who: ChangeAuthor, start: int, was: bytes
) -> Move:
    """Return the version that has the messages themselves."""
    if branch.version < 0:
        edit = Edit("branch", 0, 0, 0, actor=who.actor, reason=who.reason)
        origin = Origin(tip.branch, tip.version)
        return _move(branch, 1, source, edit=edit, who=who, before=None, origin=origin)
    edit = Edit(
        kind="switch",
        start=0,
        removed=len(branch),
        added=len(source),
        actor=who.actor,
        reason=who.reason,
        now=runs_of(bytes(start) + was),
    )
    return _move(branch, 1, source, edit=edit, who=who, before=branch.sequence.root)


def _move(
    branch: Tip,
    step: int,
    messages: Sequence,
    *,
    edit: Edit,
    who: ChangeAuthor,
    before: bytes | None,
    origin: Origin | None = None,
) -> Move:
    number = branch.version + step
    return Move(
        graph=branch.graph,
        branch=branch.branch,
        number=number,
        before=before,
        after=messages.root,
        length=len(messages),
        content=number,
        edit=edit,
        origin=origin,
        at=who.at,
    )
