"""A task that repeats its work with pauses, or when it is woken; an exception does not stop it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

_log = structlog.get_logger(__name__)


class Rounds:
    """Calls `work` at the start and every `every_s` seconds after it ends."""

    def __init__(self, name: str, work: Callable[[], Awaitable[object]], *, every_s: float) -> None:
        self._name = name
        self._work = work
        self._every_s = every_s
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()

    def start(self) -> None:
        """Start the rounds."""
        self._task = asyncio.create_task(self._run(), name=self._name)

    def wake(self) -> None:
        """End the pause: there is work now."""
        self._woken.set()

    async def stop(self) -> None:
        """Stop the rounds; one under way is cancelled."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self._work()
            except Exception:  # noqa: BLE001  task boundary: the next round tries again
                _log.exception(f"{self._name}_failed")
            with suppress(TimeoutError):
                async with asyncio.timeout(self._every_s):
                    await self._woken.wait()
