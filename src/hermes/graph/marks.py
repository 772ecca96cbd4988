"""What recorded calls did with each message of a branch: one byte per message, beside the list.

A mark belongs to a place in the conversation, not to a text: the same text twice is two messages,
and a call may have seen only one of them.
"""

from collections.abc import Iterable
from itertools import groupby

from hermes.graph.records import Edit, Runs

UNSEEN = 0
SEEN = 1
WRITTEN = 2
_ONE = tuple(((mark, 1),) for mark in (UNSEEN, SEEN, WRITTEN))
_AS_SEEN = bytes((SEEN, SEEN, WRITTEN)) + bytes(range(3, 256))


def mark_seen(marks: bytearray, stop: int, *, start: int = 0) -> None:
    """Record that a call saw the messages from `start` to `stop`."""
    first = marks.find(UNSEEN, start, stop)
    if first >= 0:
        marks[first:stop] = marks[first:stop].translate(_AS_SEEN)


def mark_survivors(marks: bytearray, seen: range, *, edits: Iterable[Edit], length: int) -> None:
    """Record that a call saw some of the `length` messages that existed before `edits`."""
    mask = bytearray(length)
    mask[seen.start : seen.stop] = bytes((SEEN,)) * len(seen)
    for edit in edits:
        mask[edit.start : edit.start + edit.removed] = bytes(edit.added)
    for index, was_seen in enumerate(mask):
        if was_seen and marks[index] == UNSEEN:
            marks[index] = SEEN


def apply_edit(marks: bytearray, edit: Edit) -> None:
    """Update the marks to their state after `edit`."""
    now = expand(edit.now) if edit.now else bytes(edit.added)
    marks[edit.start : edit.start + edit.removed] = now


def runs_of(marks: bytes) -> Runs:
    """Return marks as runs; an empty result if no call did anything."""
    if not any(marks):
        return ()
    if len(marks) == 1:
        # The usual edit; its one run is shared by all versions.
        return _ONE[marks[0]]
    return tuple((mark, len(list(run))) for mark, run in groupby(marks))


def expand(runs: Runs) -> bytes:
    """Return runs as marks."""
    return b"".join(bytes((mark,)) * length for mark, length in runs)
