"""How many model calls run at a time, and how long one waits for a place."""

import asyncio

from hermes.errors import Overloaded


class CallLimit:
    """At most `places` calls at a time; a call waits `wait_s` for a place, then is refused."""

    def __init__(self, places: int, *, wait_s: float) -> None:
        self._places = asyncio.Semaphore(places)
        self._count = places
        self._wait_s = wait_s

    async def __aenter__(self) -> None:
        await self.take()

    async def __aexit__(self, *_: object) -> None:
        self.release()

    async def take(self) -> None:
        """Wait for a place; raises `Overloaded` when none comes free in time."""
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(self._wait_s):
                await self._places.acquire()
        except TimeoutError:
            raise Overloaded(
                f"all {self._count} places for model calls (turns.max_concurrent_calls) were "
                f"taken for {self._wait_s:g} s; try again in a moment"
            ) from None

    def release(self) -> None:
        """Give the place back."""
        self._places.release()
