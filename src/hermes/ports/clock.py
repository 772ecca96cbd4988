"""Time, handed in: wall time for what people read, monotonic time for leases and time-outs."""

import time
from typing import Protocol


class Clock(Protocol):
    """A source of time."""

    def now(self) -> float:
        """Return the wall time in seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never jump."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return the wall time in seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never jump."""
        return time.monotonic()


class ManualClock:
    """A clock that moves only when told to; the twin for tests."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._monotonic = 1_000.0

    def now(self) -> float:
        """Return the wall time in seconds since the epoch."""
        return self._now

    def monotonic(self) -> float:
        """Return seconds that never jump."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both clocks forward."""
        self._now += seconds
        self._monotonic += seconds
