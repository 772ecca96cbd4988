"""Appends messages to a stored branch without reading its past.

A turn adds messages at the end of its session and reports the calls it made. The result is the
batch that a `MessageGraph` with the same history would save; only edits inside a conversation need
a full graph. Pure: the caller stores the batch and confirms it with `kept`.
"""

from collections.abc import Iterable
from collections.abc import Sequence as Many
from typing import Any

import msgspec

from hermes.graph.blob import Blob
from hermes.graph.chunk import Chunk
from hermes.graph.marks import SEEN, WRITTEN, runs_of
from hermes.graph.persistence import collect, mark_kept
from hermes.graph.reader import ObjectReader
from hermes.graph.records import Call, Edit, Move, Ref
from hermes.graph.sequence import Sequence
from hermes.graph.storage import Batch


class SeenMessages(msgspec.Struct, frozen=True, eq=False):
    """What the last call of a branch saw: `lead`, then the branch's messages `start` to `stop`."""

    lead: tuple[Blob, ...]
    start: int
    stop: int
    sequence: Sequence


class Tip(msgspec.Struct, frozen=True, eq=False):
    """The end of a branch, where it grows; a version of -1 is a branch that does not exist yet."""

    graph: str
    branch: str
    sequence: Sequence
    version: int = -1
    seen: SeenMessages | None = None

    def __len__(self) -> int:
        return len(self.sequence)

    @property
    def ref(self) -> Ref | None:
        """The head of the branch."""
        if self.version < 0:
            return None
        return Ref(self.sequence.root, len(self.sequence), self.version)


class CallView(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A call of the turn: it saw `lead` and the branch's messages `start` to `stop`.

    `response` is what it wrote; it is in the branch at `stop` if it was kept there.
    """

    id: str
    lead: tuple[Blob, ...]
    start: int
    stop: int
    response: Blob | None
    model: str
    tools: bytes | None = None
    sampling: dict[str, Any] = {}  # Any: JSON as the caller passed it
    usage: dict[str, Any] = {}  # Any: as above
    metadata: dict[str, Any] = {}  # Any: as above
    sampled: bool = True
    at: float | None = None


class Growth(msgspec.Struct, frozen=True, eq=False):
    """The branch after the change, and what must be written for it."""

    tip: Tip
    blobs: Many[Blob]
    batch: Batch
    fresh: list[Chunk]

    def kept(self) -> Tip:
        """Return the tip after the batch was written; stored parts need not stay in memory."""
        mark_kept(self.fresh)
        for blob in self.tip.seen.lead if self.tip.seen else ():
            blob.data = None
        return self.tip


def no_tip(graph: str, branch: str, reader: ObjectReader) -> Tip:
    """Return the tip of a branch that does not exist yet."""
    return Tip(graph, branch, Sequence.of((), reader))


def read_tip(graph: str, branch: str, *, ref: Ref, reader: ObjectReader) -> Tip:
    """Return the tip of a stored branch; only its topmost chunk is read."""
    return Tip(graph, branch, Sequence.read(ref.root, reader), ref.version)


def grow(
    tip: Tip,
    blobs: Many[Blob],
    *,
    views: Iterable[CallView],
    actor: str,
    reason: str,
    at: float,
) -> Growth:
    """Return the branch with `blobs` appended, as one version, and with the calls of a turn."""
    first, sequence = len(tip), tip.sequence
    for blob in blobs:
        sequence = sequence.append(blob)
    batch, fresh = Batch(blobs={}, chunks={}, moves=[], calls=[], links=[]), list[Chunk]()
    collect(sequence, batch, fresh)
    version = tip.version + 1
    marks, seen = take_calls(
        views, tip, sequence, blobs=blobs, first=first, batch=batch, fresh=fresh
    )
    edit = Edit(
        kind="append" if version else "start",
        start=first,
        removed=0,
        added=len(blobs),
        actor=actor,
        reason=reason,
        now=runs_of(marks),
    )
    move = Move(
        graph=tip.graph,
        branch=tip.branch,
        number=version,
        before=None if tip.version < 0 else tip.sequence.root,
        after=sequence.root,
        length=len(sequence),
        content=version,
        edit=edit,
        at=at,
    )
    batch.moves.append(move)
    return Growth(Tip(tip.graph, tip.branch, sequence, version, seen), blobs, batch, fresh)


def take_calls(
    views: Iterable[CallView],
    tip: Tip,
    sequence: Sequence,
    *,
    blobs: Many[Blob],
    first: int,
    batch: Batch,
    fresh: list[Chunk],
) -> tuple[bytes, SeenMessages | None]:
    """Add a turn's calls to a batch; `sequence` is the branch with its `blobs` from `first` on.

    Returns the marks of these blobs, and what the last call saw.
    """
    marks, seen = bytearray(len(blobs)), tip.seen
    for view in views:
        seen = _look(view, seen, sequence)
        collect(seen.sequence, batch, fresh)
        _mark(marks, view, first=first, blobs=blobs)
        batch.calls.append(_call(tip, view, version=tip.version + 1, context=seen.sequence))
    return bytes(marks), seen


def _look(view: CallView, seen: SeenMessages | None, sequence: Sequence) -> SeenMessages:
    """Return what a call saw, extending what the previous call saw if both begin alike."""
    lead = view.lead
    if seen is not None and _begins_alike(view, seen):
        lead, context, position = seen.lead, seen.sequence, seen.stop
    else:
        context, position = Sequence.of(lead, sequence.reader), view.start
    for blob in sequence.names(position, view.stop):
        context = context.append(blob)
    return SeenMessages(lead, view.start, view.stop, context)


def _begins_alike(view: CallView, seen: SeenMessages) -> bool:
    if (view.start, len(view.lead)) != (seen.start, len(seen.lead)) or view.stop < seen.stop:
        return False
    return all(one.id == two.id for one, two in zip(view.lead, seen.lead, strict=True))


def _mark(marks: bytearray, view: CallView, *, first: int, blobs: Many[Blob]) -> None:
    for index in range(max(0, view.start - first), view.stop - first):
        marks[index] = max(marks[index], SEEN)
    place, response = view.stop - first, view.response
    if response is not None and place < len(blobs) and blobs[place].id == response.id:
        marks[place] = WRITTEN if view.sampled else SEEN


def _call(tip: Tip, view: CallView, *, version: int, context: Sequence) -> Call:
    return Call(
        id=view.id,
        graph=tip.graph,
        branch=tip.branch,
        version=version,
        context=context.root,
        length=len(context),
        shared=view.stop,
        lead=len(view.lead),
        start=view.start,
        model=view.model,
        response=None if view.response is None else view.response.id,
        tools=view.tools,
        sampling=view.sampling,
        usage=view.usage,
        metadata=view.metadata,
        sampled=view.sampled,
        at=view.at,
    )
