"""Views of lanes as an accept or a commit left them, so that what follows at once reads nothing.

A view is handed out only while no later transaction has ended: it is what a read would have found.
"""

from hermes.ports.records import LaneView


class FreshViews:
    """The lanes that the last transaction gave their only open message, or their end."""

    def __init__(self) -> None:
        self._views: dict[str, LaneView] = {}
        self._commits = -1

    def put(self, view: LaneView, *, commits: int) -> None:
        """Keep a view; `commits` counts the transactions that have ended so far."""
        if commits != self._commits:
            self._views.clear()
            self._commits = commits
        self._views[view.lane] = view

    def take(self, lane: str, *, commits: int) -> LaneView | None:
        """Return the lane's view once, if it still holds."""
        return self._views.pop(lane, None) if commits == self._commits else None

    def clear(self) -> None:
        """Forget all: something else than a turn has changed a lane or a person."""
        self._views.clear()
