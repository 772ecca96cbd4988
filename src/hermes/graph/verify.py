"""Verifies a branch completely: every name is recomputed, every edit is repeated.

It reads everything that the branch and the calls of its graph refer to, and changes nothing. Each
item is compared with the one before it, so that the cost grows only with the length of the past.
"""

import msgspec

from hermes.errors import HermesError
from hermes.graph.blob import Blob
from hermes.graph.history import History
from hermes.graph.records import Call, Ref
from hermes.graph.sequence import Sequence
from hermes.graph.tree_check import Problem, TreeCheck
from hermes.graph.version import Version


class VerifyReport(msgspec.Struct, frozen=True):
    """What was checked and what was found; data erased on purpose is among the problems."""

    versions: int
    chunks: int
    blobs: int
    calls: int
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def verify(history: History) -> VerifyReport:
    """Check all versions of a branch, the log between them, and the calls of its graph."""
    check = TreeCheck(history.family.reader)
    steps = _check_versions(check, history)
    check.problems.extend((*steps, *_check_ref(history)))
    calls = _CallCheck(check, history)
    for call in history.family.calls:
        calls.check(call)
    known = {call.id for call in history.family.calls}
    check.problems.extend(
        Problem("missing", f"the link of {link.tool_call_id}", f"there is no call {link.call}")
        for link in history.family.links
        if link.call not in known
    )
    check.problems.extend(
        Problem("missing", "a thumb", f"there is no call {thumb.call}")
        for thumb in history.family.feedback
        if thumb.call not in known
    )
    return VerifyReport(
        versions=len(history.versions),
        chunks=check.chunks,
        blobs=len(check.blobs),
        calls=len(history.family.calls),
        problems=tuple(check.problems),
    )


def _check_ref(history: History) -> list[Problem]:
    """Check that the log ends at the head that the storage reports."""
    if not history.saved:
        return []
    where, family = f"branch {history.branch}", history.family
    ref = family.storage.branches(family.name).get(history.branch)
    if ref is None:
        return [Problem("missing", where, "its head is missing")]
    ends = history.versions[history.saved - 1]
    stands = Ref(ends.root, ends.length, ends.number)
    if ref.version > ends.number:
        # Another writer may have moved it since it was opened: then the log continues, too.
        moves = family.storage.moves(family.name, history.branch)
        if len(moves) > ref.version:
            move = moves[ref.version]
            stands = Ref(move.after, move.length, move.number)
    if ref != stands:
        text = f"its head is version {ref.version}, but its log ends at version {stands.version}"
        if ref.version == stands.version:
            text = f"its head is version {ref.version}, but its log has other messages there"
        return [Problem("inconsistent", where, text)]
    return []


def _check_versions(check: TreeCheck, history: History) -> list[Problem]:
    """Check the messages of all versions; return what is wrong with the steps between them."""
    before: tuple[Version, Sequence] | None = None
    found = []
    for version in history.versions:
        where = f"version {version.number}"
        try:
            messages = version.sequence(history.family.reader)
            check.tree(messages, where)
            # Edits can be repeated only on trees that are intact.
            if not check.problems:
                found += _check_step(history, version, messages, before=before)
        except HermesError as problem:
            check.unreadable(problem, where)
            continue
        before = (version, messages)
    return found


def _check_step(
    history: History, after: Version, new: Sequence, *, before: tuple[Version, Sequence] | None
) -> list[Problem]:
    edit, where, found = after.edit, f"version {after.number}", []
    number, old = (before[0].number, before[1]) if before else (-1, new)
    if after.number != number + 1 or after.length != len(new):
        found.append(Problem("inconsistent", where, "its number or length is wrong"))
    added = list(new.names(edit.start, edit.start + edit.added))
    repeated = old.splice(edit.start, edit.start + edit.removed, added) if before else new
    if repeated.root != new.root:
        found.append(Problem("inconsistent", where, "its edit does not lead to its messages"))
    if not 0 <= after.content <= after.number or (history.versions[after.content].root != new.root):
        found.append(
            Problem("inconsistent", where, "it differs from the version that it went back to")
        )
    return found


class _Placed(msgspec.Struct, frozen=True, eq=False):
    """A call whose context was found to be what its branch held."""

    call: Call
    context: Sequence
    version: Sequence


class _CallCheck:
    """Checks calls, each against the previous one as far as they begin alike."""

    def __init__(self, check: TreeCheck, history: History) -> None:
        self._check = check
        self._history = history
        self._last: _Placed | None = None

    def check(self, call: Call) -> None:
        """Check what a call saw, what it wrote and which tools it had."""
        where, reader = f"call {call.id}", self._history.family.reader
        try:
            context = self._history.find(call.context)
            self._check.tree(context, where)
            self._check.problems.extend(self._check_place(call, context))
            for name, digest in (
                (call.response, reader.hasher.blob),
                (call.tools, reader.hasher.tools),
            ):
                if name is None:
                    continue
                blob = Blob(name, self._history.family.unsaved_blobs.get(name))
                reader.read_blobs((blob,))
                if blob.data is None or digest(blob.data) != name:
                    text = f"blob {name.hex()} does not match its name"
                    self._check.problems.append(Problem("damaged", where, text))
        except HermesError as problem:
            self._check.unreadable(problem, where)

    def _check_place(self, call: Call, context: Sequence) -> list[Problem]:
        """Check that a context has the recorded length and the messages of its branch."""
        where, seen = f"call {call.id}", call.shared - call.start
        if len(context) != call.length or seen < 0 or call.lead + seen > call.length:
            return [Problem("inconsistent", where, "its context has a different length")]
        history = self._history
        if call.branch != history.branch or call.version >= len(history.versions):
            return []
        placed = _Placed(
            call, context, history.versions[call.version].sequence(history.family.reader)
        )
        alike = self._alike_with_last(placed)
        rest = context.common_prefix(
            placed.version, call.lead + alike, other_start=call.start + alike
        )
        if alike + rest < seen:
            return [Problem("inconsistent", where, "its context is not what its version holds")]
        self._last = placed
        return []

    def _alike_with_last(self, now: _Placed) -> int:
        """Return how many messages need no check because the previous call saw them."""
        last = self._last
        # Contexts with a lead are cut elsewhere than their branch: comparing the two takes long.
        if last is None or not last.call.start <= now.call.start <= last.call.shared:
            return 0
        call, skipped = now.call, now.call.start - last.call.start
        return min(
            call.shared - call.start,
            last.call.shared - call.start,
            now.context.common_prefix(
                last.context, call.lead, other_start=last.call.lead + skipped
            ),
            now.version.common_prefix(last.version, call.start, other_start=call.start),
        )
