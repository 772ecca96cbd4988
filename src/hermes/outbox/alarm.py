"""Waits for a signal or a time, whichever comes first; the sleep function is passed in."""

import asyncio
from collections.abc import Awaitable, Callable

Sleep = Callable[[float], Awaitable[None]]


class Alarm:
    """One waiter, any number of callers of `ring`; a ring before the wait is not lost."""

    def __init__(self, sleep: Sleep) -> None:
        self._sleep = sleep
        self._bell = asyncio.Event()

    def ring(self) -> None:
        """End the current wait; if nobody waits, the next wait returns at once."""
        self._bell.set()

    async def wait(self, seconds: float) -> None:
        """Return after `seconds`, or earlier if `ring` is called."""
        if not self._bell.is_set():
            bell = asyncio.ensure_future(self._bell.wait())
            nap = asyncio.ensure_future(self._sleep(seconds))
            try:
                await asyncio.wait({bell, nap}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                bell.cancel()
                nap.cancel()
                await asyncio.gather(bell, nap, return_exceptions=True)
        self._bell.clear()
