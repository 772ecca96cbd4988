"""Checks a branch from the ground up: every name is computed again, every edit is repeated.

It reads everything that the branch and the calls of its graph refer to, and changes nothing.
"""

import msgspec

from hermes.errors import HermesError
from hermes.graph.blob import Blob
from hermes.graph.history import History
from hermes.graph.records import Call
from hermes.graph.sequence import Sequence
from hermes.graph.tree_check import Problem, TreeCheck
from hermes.graph.version import Version


class Report(msgspec.Struct, frozen=True):
    """What was looked at and what was found; what was erased on purpose is among the problems."""

    versions: int
    chunks: int
    blobs: int
    calls: int
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def verify(history: History) -> Report:
    """Check all versions of a branch, the log between them, and the calls of its graph."""
    check = TreeCheck(history.family.reader)
    for version in history.versions:
        where = f"version {version.number}"
        try:
            check.tree(version.sequence(history.family.reader), where)
        except HermesError as problem:
            check.unreadable(problem, where)
    if not check.problems:
        # Repeating edits needs trees that can be trusted.
        for before, after in zip(history.versions, history.versions[1:], strict=False):
            check.problems.extend(_check_step(history, before, after))
    for call in history.family.calls:
        _check_call(check, history, call)
    known = {call.id for call in history.family.calls}
    check.problems.extend(
        Problem("missing", f"the link of {link.tool_call_id}", f"there is no call {link.call}")
        for link in history.family.links
        if link.call not in known
    )
    return Report(
        versions=len(history.versions),
        chunks=check.chunks,
        blobs=len(check.blobs),
        calls=len(history.family.calls),
        problems=tuple(check.problems),
    )


def _check_step(history: History, before: Version, after: Version) -> list[Problem]:
    reader, edit = history.family.reader, after.edit
    old, new = before.sequence(reader), after.sequence(reader)
    added = list(new.blobs(edit.start, edit.start + edit.added))
    repeated = old.splice(edit.start, edit.start + edit.removed, added)
    where = f"version {after.number}"
    found = []
    if after.number != before.number + 1 or after.length != len(new):
        found.append(Problem("inconsistent", where, "its number or length is not what it says"))
    if repeated.root != new.root:
        found.append(Problem("inconsistent", where, "its edit does not lead to its messages"))
    if history.versions[after.content].root != new.root:
        found.append(Problem("inconsistent", where, "it is not the version that it went back to"))
    return found


def _check_place(history: History, call: Call, context: Sequence) -> list[Problem]:
    """Check that a context has the length, and holds the messages of its branch, that are told."""
    where, seen = f"call {call.id}", call.shared - call.start
    if len(context) != call.length or seen < 0 or call.lead + seen > call.length:
        return [Problem("inconsistent", where, "its context has another length")]
    if call.branch != history.branch or call.version >= len(history.versions):
        return []
    version = history.versions[call.version].sequence(history.family.reader)
    if context.common_prefix(version, call.lead, other_start=call.start) < seen:
        return [Problem("inconsistent", where, "its context is not what its version holds")]
    return []


def _check_call(check: TreeCheck, history: History, call: Call) -> None:
    where, reader = f"call {call.id}", history.family.reader
    try:
        context = history.find(call.context)
        check.tree(context, where)
        check.problems.extend(_check_place(history, call, context))
        for name, digest in (
            (call.response, reader.hasher.blob),
            (call.tools, reader.hasher.tools),
        ):
            if name is None:
                continue
            blob = Blob(name, history.new_blobs.get(name))
            reader.read_blobs((blob,))
            if blob.data is None or digest(blob.data) != name:
                text = f"blob {name.hex()} is not what its name says"
                check.problems.append(Problem("damaged", where, text))
    except HermesError as problem:
        check.unreadable(problem, where)
