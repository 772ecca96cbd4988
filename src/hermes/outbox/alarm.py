"""Waiting for whichever comes first, a bell or a time, with a sleep that is handed in."""

import asyncio
from collections.abc import Awaitable, Callable

Sleep = Callable[[float], Awaitable[None]]


class Alarm:
    """One waiter, any number of ringers; a ring before the wait is not lost."""

    def __init__(self, sleep: Sleep) -> None:
        self._sleep = sleep
        self._bell = asyncio.Event()

    def ring(self) -> None:
        """End the wait that runs now, or the next one at once."""
        self._bell.set()

    async def wait(self, seconds: float) -> None:
        """Return after `seconds`, or earlier when somebody rings."""
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
