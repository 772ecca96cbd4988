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
