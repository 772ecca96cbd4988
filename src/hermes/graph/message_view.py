"""The messages of a graph as dicts that write through, one object per message as in a list.

A view knows which blob it shows and where that was; the log of edits says where it is now. A view
whose message has left the graph becomes an ordinary dict.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from threading import RLock
from typing import Any, Protocol
from weakref import WeakValueDictionary

from hermes.errors import HermesError
from hermes.graph.blob import Blob, freeze, reads_the_same
from hermes.graph.history import History
from hermes.graph.tracked_values import TrackedDict, tie, tied


class ViewOwner(Protocol):
    """The graph that creates the views."""

    @property
    def lock(self) -> RLock:
        """The lock of the graph."""

    def rewrite(self, view: "MessageView") -> None:
        """Store the current content of a view; raises if it is refused."""


class MessageView(TrackedDict):
    """A message of a graph: reads and writes like a dict."""

    __slots__ = ("__weakref__", "blob", "index", "keeper", "version")
    keeper: ViewOwner | None
    blob: Blob
    index: int
    version: int

    def _written(self) -> None:
        if self.keeper is not None:
            self.keeper.rewrite(self)

    def _guard(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.keeper is None else self.keeper.lock

    def _tied(self, value: Any) -> Any:  # Any: JSON
        return tied(value, self)


class Views:
    """The views that callers hold; each message has at most one."""

    __slots__ = ("_alive", "_history", "_keeper")

    def __init__(self, keeper: ViewOwner, history: History) -> None:
        self._keeper = keeper
        self._history = history
        # Keyed by the identity of the blob, which its view keeps alive.
        self._alive: WeakValueDictionary[int, MessageView] = WeakValueDictionary()

    def of(self, blob: Blob, index: int) -> MessageView:
        """Return the view of the message at `index`."""
        with self._keeper.lock:
            view = self._alive.get(id(blob))
            if view is None:
                self._alive[id(blob)] = view = _made(blob, self._keeper)
            view.index, view.version = index, self._history.number
            return view

    def moved(self, view: MessageView, blob: Blob) -> None:
        """Make a view show another blob in the same place."""
        self._alive.pop(id(view.blob), None)
        view.blob, view.version = blob, self._history.number
        self._alive[id(blob)] = view

    def locate(self, view: MessageView) -> int | None:
        """Return where the message of a view is now; None if it has left the graph."""
        history = self._history
        index: int | None = view.index
        for version in history.versions[view.version + 1 :]:
            edit = version.edit
            if index is None or index < edit.start:
                continue
            inside = index < edit.start + edit.removed
            index = None if inside else index + edit.added - edit.removed
        sequence = history.sequence
        if index is None or index >= len(sequence) or sequence.blob(index) is not view.blob:
            # It was moved by a sort or brought back by an undo, or it is removed.
            found = (at for at, blob in enumerate(sequence.blobs()) if blob is view.blob)
            index = next(found, None)
        if index is None:
            self.let_go(view)
            return None
        view.index, view.version = index, history.number
        return index

    def let_go(self, view: MessageView) -> None:
        """Make a view an ordinary dict."""
        self._alive.pop(id(view.blob), None)
        view.keeper = None

    def changed_behind(self) -> Iterator[MessageView]:
        """Iterate over the views that were changed without their own methods."""
        hasher = self._history.family.reader.hasher
        for view in list(self._alive.values()):
            try:
                # A write that only changes the order of keys does not change the graph.
                same = reads_the_same(freeze(view, hasher), view.blob)
            except HermesError:
                same = False
            if not same:
                yield view


def _made(blob: Blob, keeper: ViewOwner) -> MessageView:
    message = blob.message()
    # Calling it as a type returns a plain dict, which is what copies are.
    view = dict.__new__(MessageView)
    dict.update(view, message)
    view.keeper, view.blob = keeper, blob
    for key, value in message.items():
        if type(value) is dict or type(value) is list:
            dict.__setitem__(view, key, tie(value, view))
    return view
