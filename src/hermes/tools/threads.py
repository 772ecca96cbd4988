"""Running a plain function beside the loop, in a thread of its own.

Not in the loop's pool: name look-ups wait there too, and a tool that hangs would keep its place for
ever. The thread is a daemon, since nothing can stop a function that does not return, and a gateway
that is told to stop has to.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


async def in_thread(function: Callable[[], T], *, name: str) -> T:
    """Run `function` in a thread and return what it returns; cancelling leaves it to itself."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = copy_context()

    def settle(act: Callable[[], None]) -> None:
        if not done.done():
            act()

    def run() -> None:
        try:
            value = context.run(function)
        # Thread boundary: what the function raises is raised where it is awaited.
        except BaseException as error:  # noqa: BLE001
            problem = error
            _tell(loop, lambda: settle(lambda: done.set_exception(_raisable(problem))))
        else:
            _tell(loop, lambda: settle(lambda: done.set_result(value)))

    threading.Thread(target=run, name=f"tool {name}", daemon=True).start()
    return await done


def _tell(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    # A loop that was closed meanwhile has nobody left who waits.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(act)


def _raisable(error: BaseException) -> BaseException:
    """A future cannot hold a `StopIteration`, and a thread must not end the process."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"the function ended with {type(error).__name__}")
