"""Messages of a sender who has too many waiting, on a channel that takes messages in order.

Held back for a while, since those that wait are mostly answered soon; then passed over, since
everybody's messages behind them are held back as well. Pure.
"""

from collections.abc import Callable

_HOLD_S = 60.0
_MOST_SENDERS = 1_000
PAUSE_S = 1.0


class OverShare:
    """Remembers since when each sender has had too many waiting."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until: dict[str, float] = {}

    def may_hold(self, sender: str) -> bool:
        """Return True if a message of the sender may be held back a little longer."""
        if len(self._until) >= _MOST_SENDERS:
            self._until.clear()
        now = self._monotonic()
        return now < self._until.setdefault(sender, now + _HOLD_S)

    def taken(self, sender: str) -> None:
        """Note that a message of the sender was taken: the next one may be held back again."""
        self._until.pop(sender, None)
