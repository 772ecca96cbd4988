"""Whether the caller of a request is still there while nothing is sent to them yet.

A caller who hangs up before the first output must not keep a place among the model calls.
"""

import asyncio
from types import TracebackType

from starlette.types import Receive


class CallerLeft(Exception):
    """The caller has closed the connection; nobody waits for an answer."""


class Presence:
    """`async with` cancels what runs inside when the caller leaves, and raises `CallerLeft`."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._has_left = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._watching = asyncio.create_task(self._watch())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._watching.cancel()
        if not self._has_left:
            return
        still_cancelling = self._task.uncancel() > 0
        if kind is asyncio.CancelledError and not still_cancelling:
            raise CallerLeft from None

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._has_left = True
        self._task.cancel()
