"""Limits how fast lines are sent: a few at once, then one at a time, as servers limit floods."""

import asyncio
from collections.abc import Awaitable, Callable

from hermes.ports.clock import Clock

Sleep = Callable[[float], Awaitable[None]]


class LineRate:
    """A token bucket of lines; it gains one every `gap_s` seconds."""

    def __init__(
        self, clock: Clock, *, burst: int, gap_s: float, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._clock = clock
        self._burst = burst
        self._gap_s = gap_s
        self._sleep = sleep
        # When the bucket will be full again.
        self._full_at = 0.0

    def wait_s(self) -> float:
        """Return how long until a line may be sent."""
        now = self._clock.monotonic()
        return max(0.0, self._full_at - now - self._gap_s * (self._burst - 1))

    def time_for(self, lines: int) -> float:
        """Return how long until the last of so many lines may be sent."""
        now = self._clock.monotonic()
        full_at = max(self._full_at, now) + self._gap_s * lines
        return max(0.0, full_at - self._gap_s * self._burst - now)

    def try_take(self) -> bool:
        """Take a line's slot if there is one now."""
        if self.wait_s() > 0:
            return False
        self._full_at = max(self._full_at, self._clock.monotonic()) + self._gap_s
        return True

    async def take(self) -> None:
        """Wait until a line may be sent, and take its slot."""
        while not self.try_take():
            await self._sleep(self.wait_s())
