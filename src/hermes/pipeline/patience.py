"""How long a model call may be silent, and how long it may last in all, on one timer.

The timer is not moved with every piece of output: when it fires, it looks how long ago the last
piece came and goes on waiting for the rest. A stream of many pieces costs one timer.
"""

import asyncio
from types import TracebackType


class Patience:
    """`async with` raises `TimeoutError` inside when either limit is over."""

    def __init__(self, silence_s: float, *, limit_s: float) -> None:
        self._silence_s = silence_s
        self._limit_s = limit_s
        self._timeout = asyncio.timeout(None)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._end = 0.0
        self._heard = 0.0

    def heard(self) -> None:
        """Some output came."""
        self._heard = self._loop.time()

    async def __aenter__(self) -> "Patience":
        await self._timeout.__aenter__()
        self._heard = self._loop.time()
        self._end = self._heard + self._limit_s
        self._look()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _look(self) -> None:
        due = min(self._end, self._heard + self._silence_s)
        if due > self._loop.time():
            self._timer = self._loop.call_at(due, self._look)
        else:
            self._timeout.reschedule(due)
