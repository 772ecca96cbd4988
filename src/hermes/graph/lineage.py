"""Where each message of a branch comes from: its log replayed, one slot for each message.

Used by drawings. It knows edits, marks and positions; the drawing reads the texts, so that a
message which cannot be read still has its place.
"""

from collections.abc import Collection, Mapping
from collections.abc import Sequence as Many

import msgspec

from hermes.graph.marks import WRITTEN, expand
from hermes.graph.message_graph import MessageGraph
from hermes.graph.records import Summary
from hermes.graph.version import Version, undo_to_redo

# An edit of one message that leaves it unchanged is not an edit.
_FEWEST_WITH_SAME = 2


class Birth(msgspec.Struct, frozen=True):
    """The first place of a message, and whether a recorded call wrote it there."""

    branch: str
    version: int
    index: int
    is_written: bool


class FormerMessage(msgspec.Struct, frozen=True):
    """A message that a call saw, at `index` until `version` changed or removed it."""

    branch: str
    version: int
    index: int
    birth: Birth


class LineageSlot(msgspec.Struct, frozen=True):
    """A message: its earlier versions (`was`), and what was removed before it."""

    birth: Birth
    was: tuple[FormerMessage, ...] = ()
    gone: tuple[FormerMessage, ...] = ()
    summary: Summary | None = None


class Lineage(msgspec.Struct):
    """The slots of a branch as it is now, `gone` at its end, and the slots at earlier versions."""

    slots: list[LineageSlot]
    gone: tuple[FormerMessage, ...] = ()
    earlier: dict[int, list[LineageSlot]] = {}


def trace(
    graph: MessageGraph, known: Mapping[str, Lineage], *, remember: Collection[int] = ()
) -> Lineage:
    """Replay a branch.

    `known` are the branches it may begin from, `remember` the versions to keep.
    """
    versions = graph.versions()
    remember = {*remember, *(one.content for one in versions if one.kind == "switch")}
    lineage = Lineage(_inherited(graph, versions[0], known))
    replay = _Replay(graph, lineage, versions)
    for version in versions:
        replay.take(version)
        if version.number in remember:
            lineage.earlier[version.number] = list(lineage.slots)
    return lineage


def _inherited(
    graph: MessageGraph, first: Version, known: Mapping[str, Lineage]
) -> list[LineageSlot]:
    origin = first.origin
    if origin is None:
        return []
    parent = known.get(origin.branch)
    slots = parent.earlier.get(origin.version, []) if parent else []
    if len(slots) == first.length:
        return list(slots)
    # The origin was never saved: the messages exist, but where they come from is unknown.
    return [
        LineageSlot(Birth(graph.branch_name, 0, index, is_written=False))
        for index in range(first.length)
    ]


class _Replay:
    """Applies edits to the slots of a lineage, and records what they removed."""

    def __init__(self, graph: MessageGraph, lineage: Lineage, versions: list[Version]) -> None:
        self._graph = graph
        self._lineage = lineage
        self._versions = versions
        self._taken: dict[int, list[LineageSlot]] = {}
        self._summed: dict[Summary, list[LineageSlot]] = {}

    def take(self, version: Version) -> None:
        """Update the slots to their state after `version`."""
        edit, slots = version.edit, self._lineage.slots
        stop = edit.start + edit.removed
        old = slots[edit.start : stop]
        self._taken[version.number] = old
        lost: tuple[FormerMessage, ...] = ()
        if edit.summary is not None and edit.kind == "squish":
            self._summed[edit.summary] = old
            new = self._born(version)
        elif edit.removed == edit.added:
            new = self._replaced(version, old)
        else:
            new, lost = self._new(version)[0], _lost(old, self._formers(version, old))
        slots[edit.start : stop] = new
        self._leave(edit.start, lost, new=new)

    def _replaced(self, version: Version, old: Many[LineageSlot]) -> list[LineageSlot]:
        """Return the slots of messages that replaced the same number of others, one by one."""
        new, are_known = self._new(version)
        same = self._unchanged(version)
        slots = []
        for offset, former in enumerate(self._formers(version, old)):
            one, before = new[offset], old[offset]
            was = one.was if are_known else before.was
            # A message that comes back may name the one that it replaces already.
            is_new = former is not None and not (
                are_known and former.birth in {f.birth for f in was}
            )
            was += (former,) if former is not None and is_new else ()
            follower = msgspec.structs.replace(one, was=was, gone=before.gone)
            slots.append(before if offset in same else follower)
        return slots

    def _new(self, version: Version) -> tuple[list[LineageSlot], bool]:
        """Return the slots that an edit adds; true if they existed before and come back."""
        edit, found = version.edit, list[LineageSlot]()
        if edit.kind == "undo":
            undone = self._versions[self._versions[version.number - 1].content]
            found = self._taken.get(undone.number, [])
        elif edit.kind == "redo":
            redone = undo_to_redo(self._versions[: version.number])
            found = self._taken.get(redone.number, []) if redone else []
        elif edit.kind == "switch" and version.content != version.number:
            then = self._lineage.earlier.get(version.content, [])
            found = then[edit.start : edit.start + edit.added]
        elif edit.kind == "expand" and edit.summary is not None:
            found = self._summed.get(edit.summary, [])
        if found and len(found) == edit.added:
            return list(found), True
        return self._born(version), False

    def _born(self, version: Version) -> list[LineageSlot]:
        edit, branch, number = version.edit, self._graph.branch_name, version.number
        marks = expand(edit.now) or bytes(edit.added)
        summary = edit.summary if edit.kind == "squish" else None
        return [
            LineageSlot(Birth(branch, number, index, mark == WRITTEN), summary=summary)
            for index, mark in enumerate(marks, edit.start)
        ]

    def _formers(self, version: Version, old: Many[LineageSlot]) -> list[FormerMessage | None]:
        """Return the removed messages that calls saw; None if they saw none."""
        edit, branch = version.edit, self._graph.branch_name
        marks = expand(edit.was) or bytes(edit.removed)
        return [
            FormerMessage(branch, version.number, edit.start + offset, slot.birth) if mark else None
            for offset, (slot, mark) in enumerate(zip(old, marks, strict=True))
        ]

    def _unchanged(self, version: Version) -> set[int]:
        edit = version.edit
        if edit.added < _FEWEST_WITH_SAME:
            return set()
        span = (edit.start, edit.start + edit.added)
        before = self._graph.at(version.number - 1).sequence.names(*span)
        after = self._graph.at(version.number).sequence.names(*span)
        pairs = zip(before, after, strict=True)
        return {offset for offset, (one, two) in enumerate(pairs) if one.id == two.id}

    def _leave(self, at: int, lost: tuple[FormerMessage, ...], *, new: Many[LineageSlot]) -> None:
        """Record what was removed before the message that is there now."""
        if new:
            # What was removed before the next message was removed before the first new one.
            lost = self._pick_up(at + len(new)) + lost
        back = {slot.birth for slot in new}
        held = {former for slot in new for former in (*slot.gone, *slot.was)}
        lost = tuple(one for one in lost if one not in held and one.birth not in back)
        slots = self._lineage.slots
        if not lost:
            return
        if at < len(slots):
            slots[at] = msgspec.structs.replace(slots[at], gone=(*lost, *slots[at].gone))
        else:
            self._lineage.gone += lost

    def _pick_up(self, at: int) -> tuple[FormerMessage, ...]:
        lineage = self._lineage
        if at >= len(lineage.slots):
            found, lineage.gone = lineage.gone, ()
            return found
        slot = lineage.slots[at]
        if slot.gone:
            lineage.slots[at] = msgspec.structs.replace(slot, gone=())
        return slot.gone


def _lost(old: Many[LineageSlot], formers: Many[FormerMessage | None]) -> tuple[FormerMessage, ...]:
    found: list[FormerMessage] = []
    for slot, former in zip(old, formers, strict=True):
        found += [*slot.gone, *slot.was, *([] if former is None else [former])]
    return tuple(found)
