"""What the branches of one graph share: its name, storage, calls, links and thumbs."""

from collections.abc import Callable
from threading import RLock
from typing import Protocol
from weakref import WeakValueDictionary

import msgspec
from msgspec import field

from hermes.graph.reader import ObjectReader
from hermes.graph.records import Call, Feedback, Link
from hermes.graph.sequence import Sequence
from hermes.graph.storage import GraphStorage

Now = Callable[[], float]


class FamilyBranch(Protocol):
    """What a graph family needs from its branches."""

    @property
    def branch(self) -> str:
        """The name of the branch."""

    def hear(self, call: Call, context: Sequence) -> None:
        """Record that a call on another branch saw `context`."""


class GraphFamily(msgspec.Struct, eq=False):
    """One graph, shared by its branches; it notifies each branch of the calls on the others."""

    name: str
    storage: GraphStorage
    reader: ObjectReader
    now: Now | None = None
    calls: list[Call] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    feedback: list[Feedback] = field(default_factory=list)
    # By name, the branches that somebody holds.
    branches: WeakValueDictionary[str, FamilyBranch] = field(default_factory=WeakValueDictionary)
    # An unsaved branch must not disappear because nobody holds it for a while. Graphs of one branch
    # stay out of here, so that they are freed as soon as they are let go.
    kept: list[FamilyBranch] = field(default_factory=list)
    # Of calls that are not saved yet: what they saw by its root, what they wrote and their tools.
    unsaved_contexts: dict[bytes, Sequence] = field(default_factory=dict)
    unsaved_blobs: dict[bytes, bytes] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)
    # False if the storage ends with the process and nobody else has it.
    is_stored: bool = True
    _call_ids: set[str] = field(default_factory=set)

    def has_call(self, call_id: str) -> bool:
        """Return whether a call with this id exists; calls are only ever added."""
        self._call_ids.update(call.id for call in self.calls[len(self._call_ids) :])
        return call_id in self._call_ids

    def time(self) -> float | None:
        """Return the time, or None without a clock."""
        return self.now() if self.now else None

    def tell(self, teller: FamilyBranch, call: Call, context: Sequence) -> None:
        """Notify the other branches of the context that a call saw."""
        for branch in list(self.branches.values()):
            if branch is not teller:
                branch.hear(call, context)
