"""The past and present of one branch: its versions, the marks of calls on its messages, undo.

Every change of a branch goes through `change`, which skips unchanged messages and decides whether
there is a parallel edge. It knows blobs and sequences, not what messages look like.
"""

from collections.abc import Iterable, Iterator

from hermes.errors import BadRequest
from hermes.graph.blob import Blob, reads_the_same
from hermes.graph.family import GraphFamily
from hermes.graph.marks import apply_edit, expand, mark_seen, mark_survivors, runs_of
from hermes.graph.records import Call, Edge, Edit, EditKind, Feedback, Link, Summary
from hermes.graph.sequence import Sequence
from hermes.graph.version import Version, undo_to_redo


class History:
    """One branch of a graph; the last version is the current one."""

    def __init__(self, family: GraphFamily, branch: str, versions: list[Version]) -> None:
        self.family = family
        self.branch = branch
        self.versions = versions
        self.actor = ""
        self.reason = ""
        # None until needed: a branch from a storage replays its log to compute them.
        self.marks: bytearray | None = None
        # How many versions the storage has, and what the next save writes with the new ones.
        self.saved = 0
        self.lost_race = False
        self.new_blobs: dict[bytes, bytes] = {}
        self.new_calls: list[tuple[Call, Sequence]] = []
        self.new_links: list[Link] = []
        self.new_feedback: list[Feedback] = []
        family.branches[branch] = self

    @property
    def sequence(self) -> Sequence:
        """The current messages; what is read of them stays in memory."""
        version = self.versions[-1]
        if isinstance(version.kept, bytes):
            version.kept = version.sequence(self.family.reader)
        return version.kept

    @property
    def number(self) -> int:
        """The number of the current version."""
        return self.versions[-1].number

    def change(
        self,
        start: int,
        stop: int,
        blobs: Iterable[Blob],
        *,
        kind: EditKind,
        marked: bytes | None = None,
        summary: Summary | None = None,
    ) -> Version | None:
        """Replace the messages from `start` to `stop` by `blobs`.

        Returns None and changes nothing if the same messages are already there. `marked` are the
        marks of the new messages, if any.
        """
        new = list(blobs)
        old = self._replaceable(start, stop) if new else []
        if old:
            head, tail, old, new = _without_the_same(old, new)
            start, stop = start + head, stop - tail
        if start == stop and not new:
            return None
        was = bytes(self.known_marks()[start:stop])
        if marked is None:
            carried = {id(blob): mark for blob, mark in zip(old, was, strict=False) if mark}
            marked = bytes([carried.get(id(blob), 0) for blob in new]) if carried else b""
        edit = Edit(
            kind=kind,
            start=start,
            removed=stop - start,
            added=len(new),
            actor=self.actor,
            reason=self.reason,
            parallel=_has_changed_seen(was, old, new),
            was=runs_of(was),
            now=runs_of(marked),
            summary=summary,
        )
        return self._move(edit, _edited(self.sequence, edit, new))

    def undo(self) -> Version:
        """Return to the messages before the last change that is not undone yet."""
        undone = self.versions[self.versions[-1].content]
        if undone.number == 0:
            raise BadRequest(
                f"Branch {self.branch!r} of graph {self.family.name!r} is at its beginning: there "
                "is nothing to undo. versions() lists the changes."
            )
        return self._reverse(undone, kind="undo")

    def redo(self) -> Version:
        """Make the last undone change again, unless something else changed since."""
        undone = undo_to_redo(self.versions)
        if undone is None:
            raise BadRequest(
                f"Branch {self.branch!r} of graph {self.family.name!r} has nothing to redo: its last "
                "change is not an undo. versions() lists the changes."
            )
        return self._reverse(undone, kind="redo")

    def _reverse(self, undone: Version, *, kind: EditKind) -> Version:
        """Return to the messages before a version, whose own are the current ones."""
        back = self.versions[undone.number - 1]
        start, removed, added = undone.edit.start, undone.edit.added, undone.edit.removed
        was = bytes(self.known_marks()[start : start + removed])
        old = list(self.sequence.blobs(start, start + removed)) if any(was) else []
        new = list(back.sequence(self.family.reader).blobs(start, start + added))
        edit = Edit(
            kind=kind,
            start=start,
            removed=removed,
            added=added,
            actor=self.actor,
            reason=self.reason,
            parallel=_has_changed_seen(was, old, new),
            was=runs_of(was),
            now=undone.edit.was,
        )
        # Not the old sequence as a whole: a message that stays must stay the same blob.
        return self._move(edit, _edited(self.sequence, edit, new), content=back.content)

    def record(self, call: Call, context: Sequence) -> None:
        """Record a call and mark the messages that it saw."""
        version, marks = self.versions[call.version], self.known_marks()
        if call.version == self.number:
            mark_seen(marks, call.shared, start=call.start)
        else:
            edits = (later.edit for later in self.versions[call.version + 1 :])
            seen = range(call.start, call.shared)
            mark_survivors(marks, seen, edits=edits, length=version.length)
        self.family.calls.append(call)
        self.new_calls.append((call, context))
        self.family.unsaved_contexts[call.context] = context
        self.family.tell(self, call, context)

    def hear(self, call: Call, context: Sequence) -> None:
        """Record that a call on another branch saw `context`."""
        if self.marks is not None:
            self._mark_heard(self.marks, call, context)

    def find(self, root: bytes) -> Sequence:
        """Return the messages of a root, from memory or from the storage."""
        unsaved = self.family.unsaved_contexts.get(root)
        if unsaved is not None:
            return unsaved
        # What was saved is in the storage; searching a long past for each call would take too long.
        for version in self.versions[self.saved :]:
            if version.root == root:
                return version.sequence(self.family.reader)
        return Sequence.read(root, self.family.reader)

    def edges(self) -> Iterator[Edge]:
        """Iterate over the parallel edges: which message replaced which, after a call saw it."""
        for version in self.versions:
            if version.edit.parallel:
                before = self.versions[version.number - 1].sequence(self.family.reader)
                yield from _edges_of(version, before, version.sequence(self.family.reader))

    def known_marks(self) -> bytearray:
        """Return what calls did with each message."""
        if self.marks is None:
            self.marks = self._replayed_marks()
        return self.marks

    def _replaceable(self, start: int, stop: int) -> list[Blob]:
        if stop - start == 1:
            return [self.sequence.blob(start)]
        return list(self.sequence.blobs(start, stop)) if start < stop else []

    def _move(self, edit: Edit, sequence: Sequence, content: int | None = None) -> Version:
        number = self.number + 1
        version = Version(
            number=number,
            edit=edit,
            content=number if content is None else content,
            kept=sequence,
            length=len(sequence),
            at=self.family.time(),
        )
        apply_edit(self.known_marks(), edit)
        self.versions.append(version)
        return version

    def _replayed_marks(self) -> bytearray:
        """Replay the log from its origin, with the calls where they were recorded."""
        logs = [(self.branch, [(one.number, one.edit) for one in self.versions])]
        origin = self.versions[0].origin
        while origin is not None:
            moves = self.family.storage.moves(self.family.name, origin.branch)
            logs.append(
                (origin.branch, [(one.number, one.edit) for one in moves[: origin.version + 1]])
            )
            origin = moves[0].origin if moves else None
        marks, marked = bytearray(), 0
        for branch, edits in reversed(logs):
            if branch == self.branch and self.versions[0].origin:
                # Its origin may never have been saved.
                length = self.versions[0].length
                marks, marked = (marks + bytes(length))[:length], 0
            seen = self._seen_by_version(branch)
            for number, edit in edits:
                apply_edit(marks, edit)
                # Everything up to here is marked; only what an edit put there may not be.
                marked = min(marked, edit.start)
                for start, stop in seen.get(number, ()):
                    mark_seen(marks, stop, start=max(start, marked))
                    marked = stop if start <= marked < stop else marked
        self._hear_of_others(marks)
        return marks

    def _seen_by_version(self, branch: str) -> dict[int, set[tuple[int, int]]]:
        seen: dict[int, set[tuple[int, int]]] = {}
        for call in self.family.calls:
            if call.branch == branch:
                seen.setdefault(call.version, set()).add((call.start, call.shared))
        return seen

    def _hear_of_others(self, marks: bytearray) -> None:
        for call in self.family.calls:
            if call.branch != self.branch:
                self._mark_heard(marks, call, self.find(call.context))

    def _mark_heard(self, marks: bytearray, call: Call, context: Sequence) -> None:
        alike = context.common_prefix(self.sequence, call.lead, other_start=call.start)
        mark_seen(marks, call.start + alike, start=call.start)


def _without_the_same(old: list[Blob], new: list[Blob]) -> tuple[int, int, list[Blob], list[Blob]]:
    # A message that is rewritten unchanged keeps its place and its blob: that is not a change.
    if len(old) == len(new):
        new = [
            before if reads_the_same(before, after) else after
            for before, after in zip(old, new, strict=True)
        ]
    head, shorter = 0, min(len(old), len(new))
    while head < shorter and old[head].id == new[head].id:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail].id == new[-1 - tail].id:
        tail += 1
    kept = slice(head, -tail or None)
    return head, tail, old[kept], new[kept]


def _has_changed_seen(was: bytes, old: list[Blob], new: list[Blob]) -> bool:
    if len(was) == len(old) == len(new):
        return any(
            mark and before.id != after.id
            for mark, before, after in zip(was, old, new, strict=True)
        )
    return any(was)


def _edited(sequence: Sequence, edit: Edit, new: list[Blob]) -> Sequence:
    if edit.added == 1 and edit.removed == 1:
        return sequence.replace(edit.start, new[0])
    if edit.added == 1 and edit.start == len(sequence):
        return sequence.append(new[0])
    return sequence.splice(edit.start, edit.start + edit.removed, new)


def _edges_of(version: Version, before: Sequence, after: Sequence) -> Iterator[Edge]:
    edit = version.edit
    for offset, mark in enumerate(expand(edit.was)):
        if not mark:
            continue
        index = edit.start + offset
        # A summary takes the place of every message that it replaces.
        place = 0 if edit.summary else offset
        became = after.blob(edit.start + place).id if place < edit.added else None
        was = before.blob(index).id
        if was != became:
            yield Edge(version.number, index, was, became)
