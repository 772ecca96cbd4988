"""Detects that the caller has disconnected before anything was sent.

A caller who disconnects before the first output must not occupy a slot among the model calls. The
server's edge reports a lost connection; under another server the request is awaited instead.
"""

import asyncio
from types import TracebackType

from hermes.http.route import HttpExchange
from hermes.http.sse import ON_LOST, OnLost


class CallerLeft(Exception):
    """The caller has closed the connection; nobody waits for an answer."""


class Presence:
    """`async with` cancels what runs inside when the caller leaves, and raises `CallerLeft`."""

    def __init__(self, exchange: HttpExchange) -> None:
        self._receive = exchange.receive
        self._tell: OnLost | None = exchange.scope.get(ON_LOST)
        self._watching: asyncio.Task[None] | None = None
        self._has_left = False

    async def __aenter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        if self._tell is not None:
            self._tell(self._leave)
        else:
            self._watching = asyncio.create_task(self._listen())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._tell is not None:
            self._tell(None)
        if self._watching is not None:
            self._watching.cancel()
        if not self._has_left:
            return
        still_cancelling = self._task.uncancel() > 0
        if kind is asyncio.CancelledError and not still_cancelling:
            raise CallerLeft from None

    def _leave(self) -> None:
        self._has_left = True
        self._task.cancel()

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._leave()
