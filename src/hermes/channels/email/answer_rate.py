"""Limits how many mails of one address are answered per hour; the rest wait. Pure but for the
clock.
"""

from collections import deque
from typing import Final

from hermes.ports.clock import Clock

_HOUR_S: Final = 3600.0
_MAX_ADDRESSES: Final = 10_000


class AnswerRate:
    """Counts the accepted mails of each address."""

    def __init__(self, per_hour: int, clock: Clock) -> None:
        self._per_hour = per_hour
        self._clock = clock
        self._taken: dict[str, deque[float]] = {}

    def wait_s(self, address: str) -> float:
        """Return how long the next mail of an address has to wait; 0 if it need not."""
        times = self._recent(self._taken.get(address, deque()))
        if len(times) < self._per_hour:
            return 0.0
        return max(0.0, times[0] + _HOUR_S - self._clock.monotonic())

    def took(self, address: str) -> None:
        """Record that a mail was accepted."""
        if len(self._taken) >= _MAX_ADDRESSES and address not in self._taken:
            # The address counted first is the most likely to have nothing left to count.
            self._taken.pop(next(iter(self._taken)))
        times = self._taken.setdefault(address, deque(maxlen=self._per_hour))
        self._recent(times).append(self._clock.monotonic())

    def _recent(self, times: deque[float]) -> deque[float]:
        while times and times[0] <= self._clock.monotonic() - _HOUR_S:
            times.popleft()
        return times
