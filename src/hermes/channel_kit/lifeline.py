"""The tasks of a connected channel, and the first reason why it is not connected any more.

A channel begins a life when it connects, runs its receivers in it, and closes it when it disconnects.
Whatever comes first is the reason that `lost` raises: the end of a receiver, its error, or what the
channel reports itself, such as a revoked credential.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, NoReturn, TypeVar

import structlog

from hermes.errors import ConnectFailed, HermesError

Result = TypeVar("Result")
_log = structlog.get_logger(__name__)


class Lifeline:
    """The tasks of one channel from its connect to its disconnect; it can begin again."""

    def __init__(self, platform: str) -> None:
        self._platform = platform
        self._ended: asyncio.Future[HermesError] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def why(self) -> HermesError | None:
        """Why the life has ended; None while it goes on, and before the first one."""
        ended = self._ended
        return ended.result() if ended is not None and ended.done() else None

    def begin(self) -> None:
        """Begin a life; the one before must be closed."""
        self._ended = asyncio.get_running_loop().create_future()

    # Any: what may be sent into a coroutine, which is nothing.
    def run(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run a receiver: its error is the reason why the channel is lost, and so is its end."""
        self._own(self._received(work, name), name, work=work)

    def run_aside(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run a task that the channel can do without: its error is logged and ends nothing."""
        self._own(self._beside(work, name), name, work=work)

    def end(self, why: HermesError) -> None:
        """End the life for a reason; one that was there before stays."""
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(why)

    async def lost(self) -> NoReturn:
        """Wait until the life has ended; raise why."""
        if self._ended is None:
            raise ConnectFailed(f"{self._platform}: not connected")
        raise await asyncio.shield(self._ended)

    async def until(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Return what a coroutine returns; raise why the life has ended if that comes first."""
        waiting = asyncio.create_task(work)
        gone = asyncio.create_task(self.lost())
        try:
            await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
            # What was reached counts, also if the end came in the same moment.
            return waiting.result() if waiting.done() else gone.result()
        finally:
            await _cancelled(waiting, gone)

    async def close(self) -> None:
        """End the life and its tasks; once it returns, none of them runs."""
        self.end(ConnectFailed(f"{self._platform}: the channel was disconnected"))
        tasks = tuple(task for task in self._tasks if task is not asyncio.current_task())
        await _cancelled(*tasks)

    async def _received(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except HermesError as error:
            self.end(error)
        # Boundary: a receiver's own task; without this, nobody would notice that it stopped.
        except Exception as error:  # noqa: BLE001
            _log.exception("channel.task_failed", platform=self._platform, task=name)
            self.end(ConnectFailed(f"{self._platform}: receiving failed ({type(error).__name__})"))
        else:
            self.end(ConnectFailed(f"{self._platform}: receiving has ended"))

    async def _beside(self, work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        # Boundary: a task of its own that nobody awaits; the channel goes on without it.
        except Exception:  # noqa: BLE001
            _log.exception("channel.task_failed", platform=self._platform, task=name)

    def _own(
        self, run: Coroutine[Any, Any, None], name: str, *, work: Coroutine[Any, Any, None]
    ) -> None:
        task = asyncio.create_task(run, name=f"{self._platform} {name}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # What was cancelled before it began has not begun its work either.
        task.add_done_callback(lambda _task: work.close())


# Any: their results do not matter.
async def _cancelled(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
