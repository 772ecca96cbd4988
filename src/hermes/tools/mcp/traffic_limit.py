"""Limits how fast a server may send: beyond it, it is not read, so its pipe fills and it has to
wait.

A flood then costs the gateway a bounded share of its time, and nothing is dropped.
"""

from collections.abc import Awaitable, Callable

Sleep = Callable[[float], Awaitable[None]]
PER_SECOND = 500.0
BURST = 1_000.0
# One message costs one unit, plus one for each piece of this size.
PIECE_BYTES = 16_384


class TrafficLimit:
    """An allowance that refills with time; a caller that overdraws it waits."""

    def __init__(self, monotonic: Callable[[], float], sleep: Sleep) -> None:
        self._monotonic = monotonic
        self._sleep = sleep
        self._left = BURST
        self._at = monotonic()

    async def spend(self, cost: float) -> None:
        """Take from the allowance; wait if it is used up."""
        now = self._monotonic()
        self._left = min(BURST, self._left + (now - self._at) * PER_SECOND) - cost
        self._at = now
        if self._left < 0:
            await self._sleep(-self._left / PER_SECOND)

    async def spend_bytes(self, count: int) -> None:
        """Take the cost of this many bytes."""
        await self.spend(count / PIECE_BYTES)
