"""How many model calls run at a time, who gets the next slot, and how long a call waits for one."""

import asyncio

from hermes.calls.shares import ShareHolder, Shares
from hermes.errors import NoPlace

_THIRD = 3


class CallLimit:
    """At most `places` calls at a time, given out in turn; one asker has at most `each` of them.

    Without `each` it is a third. A call waits `wait_s` for a slot unless it says how long.
    """

    def __init__(self, places: int, *, wait_s: float, each: int | None = None) -> None:
        self._count = places
        self._wait_s = wait_s
        self._each = each or -(-places // _THIRD)
        self._shares: Shares[asyncio.Future[None]] = Shares(places, each=self._each)

    def place(self, asker: ShareHolder, *, wait_s: float | None = None) -> "CallPlace":
        """Return a slot for `async with`; raises `NoPlace` if none is free in time."""
        return CallPlace(self, asker, wait_s=self._wait_s if wait_s is None else wait_s)

    def is_free_for(self, asker: ShareHolder) -> bool:
        """Return True if the asker would get a slot at once."""
        return self._shares.can_take(asker)

    def take_free(self, asker: ShareHolder) -> bool:
        """Take a slot if the asker can have one at once; return whether it did."""
        can_take = self._shares.can_take(asker)
        if can_take:
            self._shares.take(asker)
        return can_take

    async def take(self, asker: ShareHolder, *, wait_s: float) -> None:
        """Wait for a slot, after `take_free` gave none; raises `NoPlace` if none is free in time."""
        place = asyncio.get_running_loop().create_future()
        self._shares.wait(asker, place)
        has_place = False
        try:
            async with asyncio.timeout(wait_s):
                await place
            has_place = True
        except TimeoutError:
            raise self._refusal(wait_s) from None
        finally:
            if not has_place:
                self._give_up(asker, place)

    def _give_up(self, asker: ShareHolder, place: asyncio.Future[None]) -> None:
        """Leave the queue; a slot that was just assigned goes to the next."""
        if place.done() and not place.cancelled():
            self.release(asker)
        else:
            self._shares.leave(asker, place)

    def release(self, asker: ShareHolder) -> None:
        """Release a slot; the next in turn gets it."""
        self._shares.release(asker)
        while (dealt := self._shares.deal()) is not None:
            asker, place = dealt
            if place.done():
                # Its caller is about to notice that the wait is over.
                self._shares.release(asker)
            else:
                place.set_result(None)

    def _refusal(self, wait_s: float) -> NoPlace:
        return NoPlace(
            f"all {self._count} slots for model calls (turns.max_concurrent_calls), or the "
            f"{self._each} that one person or key may have (turns.max_calls_each), were taken for "
            f"{round(wait_s, 1):g} s; try again in a moment, or raise these settings"
        )


class CallPlace:
    """`async with` waits for a slot and releases it."""

    __slots__ = ("_asker", "_limit", "_wait_s")

    def __init__(self, limit: CallLimit, asker: ShareHolder, *, wait_s: float) -> None:
        self._limit = limit
        self._asker = asker
        self._wait_s = wait_s

    async def __aenter__(self) -> None:
        if not self._limit.take_free(self._asker):
            await self._limit.take(self._asker, wait_s=self._wait_s)

    async def __aexit__(self, *_: object) -> None:
        self._limit.release(self._asker)
