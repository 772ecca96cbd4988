"""A timer that unloads a built-in model after it has been idle."""

import asyncio
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A callback that runs later, unless it is cancelled."""

    def cancel(self) -> None:
        """Cancel the callback."""
        ...


CallLater = Callable[[float, Callable[[], None]], Timer]


class IdleTimer:
    """Calls `action` once, `seconds` after the last `start`, unless it is stopped before."""

    def __init__(
        self, seconds: float, action: Callable[[], None], *, call_later: CallLater | None = None
    ) -> None:
        self._seconds = seconds
        self._action = action
        self._call_later = call_later
        self._timer: Timer | None = None

    def start(self) -> None:
        """Start waiting, or restart."""
        self.stop()
        later = self._call_later or asyncio.get_running_loop().call_later
        self._timer = later(self._seconds, self._action)

    def stop(self) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
