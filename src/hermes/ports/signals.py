"""Signals between the parts of a core: wake-ups, and two facts that one part knows and another asks.

Made before every part, so that no part has to be handed to one that was built earlier.
"""

from collections.abc import Callable
from typing import Protocol

from hermes.message.outcome import BusyPolicy


class LaneListener(Protocol):
    """Runs turns: is notified of lanes that have work."""

    def wake(self, lane: str) -> None:
        """Look at a lane."""
        ...

    def arrived(self, lane: str, *, message_id: str, busy: BusyPolicy) -> None:
        """A new message is on a lane."""
        ...

    def interrupt(self, lane: str, by: str, *, message_id: str | None) -> None:
        """Stop the turn of a message, if it runs on the lane."""
        ...


class Signals:
    """Passes signals on to the parts that listen; fits `ports.upward.Wake`.

    A signal that no part listens to yet is dropped: every part looks for work when it starts.
    """

    def __init__(self) -> None:
        # How many messages are on their way to the disk.
        self.accepting = 0
        # The lanes whose task runs now.
        self.busy_lanes: set[str] = set()
        self._lanes: list[LaneListener] = []
        self._outboxes: list[Callable[[str], None]] = []

    def add_lanes(self, listener: LaneListener) -> None:
        """Tell this listener of lanes from now on."""
        self._lanes.append(listener)

    def add_outbox(self, wake: Callable[[str], None]) -> None:
        """Tell this function of platforms that have something to send from now on."""
        self._outboxes.append(wake)

    def wake_lane(self, lane: str) -> None:
        """Make the turn runner check a lane."""
        for listener in self._lanes:
            listener.wake(lane)

    def arrived(self, lane: str, *, message_id: str, busy: BusyPolicy) -> None:
        """A new message is on a lane."""
        for listener in self._lanes:
            listener.arrived(lane, message_id=message_id, busy=busy)

    def stopped(self, lane: str, *, by: str, message_id: str) -> None:
        """A message is to end, says its row; its turn may run, or wait."""
        for listener in self._lanes:
            listener.interrupt(lane, by, message_id=message_id)
            listener.wake(lane)

    def interrupt(self, lane: str, by: str, *, message_id: str | None) -> None:
        """Stop the turn of `message_id` on a lane, for the sake of `by`."""
        for listener in self._lanes:
            listener.interrupt(lane, by, message_id=message_id)

    def wake_outbox(self, platform: str) -> None:
        """Make the sender of a platform look for replies now."""
        for wake in self._outboxes:
            wake(platform)

    def is_running(self, lane: str) -> bool:
        """Return whether the task of a lane runs now."""
        return lane in self.busy_lanes
