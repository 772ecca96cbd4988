"""Limits how long a model call may be silent, and how long it may last in total, with one timer.

Only the waiting counts: the consumer may take its time between two pieces, and may continue in
another task. The timer is not reset for every piece: when it fires, it checks how long this wait
has lasted and continues for the rest. So a stream of many pieces costs one timer.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Heard = TypeVar("Heard")


class StreamTimeout:
    """`with` starts the time; `wait` raises `TimeoutError` if either limit is exceeded."""

    def __init__(self, silence_s: float, *, limit_s: float) -> None:
        self._silence_s = silence_s
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + limit_s
        self._since = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._is_over = False

    def __enter__(self) -> "StreamTimeout":
        self._look()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def wait(self, coming: Awaitable[Heard]) -> Heard:
        """Return the next result, or raise `TimeoutError`."""
        task = asyncio.current_task(self._loop)
        assert task is not None
        before = task.cancelling()
        self._since = self._loop.time()
        self._task = task
        try:
            return await coming
        except asyncio.CancelledError:
            if self._is_over and task.uncancel() <= before:
                raise TimeoutError from None
            raise
        finally:
            self._task = None

    def _look(self) -> None:
        now = self._loop.time()
        silent_until = (now if self._task is None else self._since) + self._silence_s
        due = (
            silent_until
            if self._task is None and now >= self._end
            else min(self._end, silent_until)
        )
        if due > now:
            self._timer = self._loop.call_at(due, self._look)
        elif self._task is not None:
            self._is_over = True
            self._task.cancel()
