"""The changes between two contexts; equal chunks are skipped."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal

import msgspec

from hermes.graph.blob import Blob, Message
from hermes.graph.chunk import Chunk, blobs_of, id_of
from hermes.graph.hasher import Hasher
from hermes.graph.sequence import Sequence

ChangeKind = Literal["replace", "delete", "insert"]


class Change(msgspec.Struct, frozen=True):
    """Messages `before`, from index `at_before` on, became `after`, from index `at_after` on."""

    kind: ChangeKind
    at_before: int
    at_after: int
    before: tuple[Message, ...]
    after: tuple[Message, ...]


def diff(one: Sequence, two: Sequence) -> list[Change]:
    """Return the changes that turn `one` into `two`, in order."""
    if one.root == two.root:
        return []
    spans = list(_spans([*one.leaves()], [*two.leaves()], one.reader.hasher))
    return [change for span in spans for change in _changes(one, two, span)]


Span = tuple[int, int, int, int]


def _spans(mine: list[Chunk], theirs: list[Chunk], hasher: Hasher) -> Iterator[Span]:
    starts, ends = _offsets(mine), _offsets(theirs)
    names = [id_of(leaf, hasher) for leaf in mine], [id_of(leaf, hasher) for leaf in theirs]
    for kind, a, b, c, d in SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if kind != "equal":
            yield starts[a], starts[b], ends[c], ends[d]


def _offsets(leaves: list[Chunk]) -> list[int]:
    found = [0]
    for leaf in leaves:
        found.append(found[-1] + len(blobs_of(leaf)))
    return found


def _changes(one: Sequence, two: Sequence, span: Span) -> Iterator[Change]:
    mine, theirs = list(one.blobs(*span[:2])), list(two.blobs(*span[2:]))
    matcher = SequenceMatcher(
        None, [blob.id for blob in mine], [blob.id for blob in theirs], autojunk=False
    )
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            yield Change(
                kind=kind,
                at_before=span[0] + a,
                at_after=span[2] + c,
                before=_messages(mine[a:b]),
                after=_messages(theirs[c:d]),
            )


def _messages(blobs: list[Blob]) -> tuple[Message, ...]:
    return tuple(blob.message() for blob in blobs)
