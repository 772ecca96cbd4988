"""Limits of messages in a time, such as 5 in 5 s to one chat: when the next one may be sent.

Beside the gaps of `rates.py`. What an earlier process has sent counts as well: it is read once, at the
start.
"""

from collections import deque
from collections.abc import Iterable, Sequence

from hermes.ports.channel_rows import RateRow

# Above this many remembered chats, those whose time is over are forgotten.
_FEW_CHATS = 256
_PLATFORM = ""


class _Window:
    """One limit: the times of the last sends, of the platform or of each chat."""

    def __init__(self, row: RateRow) -> None:
        self._row = row
        self._sends: dict[str, deque[float]] = {}
        self._forget_at = _FEW_CHATS

    def next_at(self, chat_id: str) -> float:
        """Return when the next message may be sent, or 0 if at any time."""
        sends = self._sends.get(self._key(chat_id))
        if sends is None or len(sends) < self._row.most:
            return 0.0
        return sends[0] + self._row.within_s

    def take(self, chat_id: str, at: float) -> None:
        """Count a message."""
        if len(self._sends) >= self._forget_at:
            self._forget(at)
        sends = self._sends.setdefault(self._key(chat_id), deque(maxlen=max(1, self._row.most)))
        sends.append(at)

    def _key(self, chat_id: str) -> str:
        return chat_id if self._row.scope == "chat" else _PLATFORM

    def _forget(self, now: float) -> None:
        since = now - self._row.within_s
        self._sends = {key: sends for key, sends in self._sends.items() if sends[-1] > since}
        self._forget_at = max(_FEW_CHATS, 2 * len(self._sends))


class RateWindows:
    """All limits of one platform."""

    def __init__(self, rows: Sequence[RateRow]) -> None:
        self._windows = tuple(map(_Window, rows))
        self.longest_s = max((row.within_s for row in rows), default=0.0)
        self.most = max((row.most for row in rows), default=0)

    def next_at(self, chat_id: str) -> float:
        """Return when the next message to a chat may be sent, or 0 if at any time."""
        return max((one.next_at(chat_id) for one in self._windows), default=0.0)

    def take(self, chat_id: str, at: float) -> None:
        """Count a message to a chat."""
        for one in self._windows:
            one.take(chat_id, at)

    def remember(self, sends: Iterable[tuple[str, float]]) -> None:
        """Count what was sent before, each as its chat and time, the oldest first."""
        for chat_id, at in sends:
            self.take(chat_id, at)
