"""A version of a branch: the edit that made it and the messages it left."""

from collections.abc import Sequence as Many

import msgspec

from hermes.graph.reader import ObjectReader
from hermes.graph.records import Edit, EditKind, Move, Origin
from hermes.graph.sequence import Sequence


class Version(msgspec.Struct, eq=False, gc=False):
    """One state of a branch; `content` is the version whose messages these are.

    A version from the log knows its root and reads its messages on demand.
    """

    number: int
    edit: Edit
    content: int
    kept: Sequence | bytes
    length: int
    at: float | None = None
    origin: Origin | None = None

    def __repr__(self) -> str:
        edit, by = self.edit, f" by {self.actor!r}" if self.actor else ""
        what = f"{edit.kind} at {edit.start}, -{edit.removed} +{edit.added}{by}"
        why = f", {self.reason!r}" if self.reason else ""
        return f"<Version {self.number}: {what}{why}, length {self.length}>"

    @property
    def kind(self) -> EditKind:
        """What was done."""
        return self.edit.kind

    @property
    def actor(self) -> str:
        """Who did it."""
        return self.edit.actor

    @property
    def reason(self) -> str:
        """Why, if a reason was given."""
        return self.edit.reason

    @property
    def parallel(self) -> bool:
        """Whether a call had seen or written what was changed."""
        return self.edit.parallel

    @property
    def root(self) -> bytes:
        """The name of the context that this version is."""
        return self.kept if isinstance(self.kept, bytes) else self.kept.root

    def sequence(self, reader: ObjectReader) -> Sequence:
        """Return the messages; those of a version from the log are read again each time."""
        return Sequence.read(self.kept, reader) if isinstance(self.kept, bytes) else self.kept


def undo_to_redo(versions: Many[Version]) -> Version | None:
    """Return the undo at the end of a log that was not redone yet; None if there is none."""
    redone = 0
    for version in reversed(versions):
        if version.kind == "redo":
            redone += 1
        elif version.kind != "undo":
            return None
        elif not redone:
            return version
        else:
            redone -= 1
    return None


def version_of(move: Move) -> Version:
    """Return the version that a row of the log describes."""
    return Version(
        number=move.number,
        edit=move.edit,
        content=move.content,
        kept=move.after,
        length=move.length,
        at=move.at,
        origin=move.origin,
    )
