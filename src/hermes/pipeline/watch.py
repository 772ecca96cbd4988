"""Watching a running turn: a snapshot, then what happens; nothing here is durable."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable

from hermes.ports.upward import Progress

_LAST = ("done", "parked", "stopping")
_ENDS = (*_LAST, "question")
_MAX_BEHIND = 10_000
# Finds the end of a turn in the journal.
Look = Callable[[], Awaitable[Progress | None]]


class _Watcher:
    """One subscriber's unread progress."""

    __slots__ = ("unread", "waiter")

    def __init__(self) -> None:
        self.unread: deque[Progress] = deque()
        self.waiter: asyncio.Future[None] | None = None

    def tell(self, progress: Progress) -> None:
        if len(self.unread) < _MAX_BEHIND or progress.kind in _LAST:
            self.unread.append(progress)
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    async def next(self) -> Progress:
        while not self.unread:
            self.waiter = asyncio.get_running_loop().create_future()
            await self.waiter
        return self.unread.popleft()


class _EndWaiter:
    """One who waits for the end of a turn and is not woken before."""

    __slots__ = ("end",)

    def __init__(self) -> None:
        self.end: asyncio.Future[Progress] = asyncio.get_running_loop().create_future()

    def tell(self, progress: Progress) -> None:
        if progress.kind in _ENDS and not self.end.done():
            self.end.set_result(progress)


class WatchHub:
    """Fits `ports.upward.Watch`: text so far and subscribers, by message."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._watchers: dict[str, list[_Watcher | _EndWaiter]] = {}
        self._questions: dict[str, Progress] = {}
        self._status: Progress | None = None

    def publish(self, message_id: str, progress: Progress) -> None:
        """Tell everyone who watches this message."""
        if progress.kind == "delta":
            self._status = None
            self._texts.setdefault(message_id, []).append(progress.text)
        elif progress.kind == "question":
            self._questions[message_id] = progress
        elif progress.kind in ("restart", "settled", *_LAST):
            if progress.kind != "settled":
                self._texts.pop(message_id, None)
            if self._questions:
                self._questions.pop(message_id, None)
        for watcher in self._watchers.get(message_id, ()):
            watcher.tell(progress)

    def broadcast(self, progress: Progress) -> None:
        """Tell everyone who watches any message; whoever comes later is told the last status."""
        self._status = progress if progress.kind == "status" else self._status
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.tell(progress)

    def close(self) -> None:
        """Tell every watcher that this process tells nothing more; the messages go on later."""
        self.broadcast(Progress(kind="stopping"))

    def text(self, message_id: str) -> str:
        """Return the text that a running turn has shown so far."""
        return "".join(self._texts.get(message_id, ()))

    def question(self, message_id: str) -> Progress | None:
        """Return the question that a running turn waits with; None if it asks nothing."""
        return self._questions.get(message_id)

    async def subscribe(self, message_id: str) -> AsyncGenerator[Progress, None]:
        """Yield a snapshot, then everything until `done`, `parked` or `stopping`."""
        watcher = _Watcher()
        self._watchers.setdefault(message_id, []).append(watcher)
        question = self._questions.get(message_id)
        try:
            yield Progress(kind="snapshot", text=self.text(message_id))
            if self._status is not None:
                yield self._status
            if question is not None:
                yield question
            while True:
                progress = await watcher.next()
                yield progress
                if progress.kind in _LAST:
                    return
        finally:
            self._leave(message_id, watcher)

    async def end(self, message_id: str, *, look: Look | None = None) -> Progress:
        """Return how a turn ends (`done`, `parked`, `stopping`), or the question that it asks.

        `look` finds the end of one that may have ended before; it may end during that look.
        """
        question = self._questions.get(message_id)
        if question is not None:
            return question
        waiter = _EndWaiter()
        self._watchers.setdefault(message_id, []).append(waiter)
        try:
            ended = None if look is None else await look()
            return await waiter.end if ended is None else ended
        finally:
            self._leave(message_id, waiter)

    def _leave(self, message_id: str, watcher: _Watcher | _EndWaiter) -> None:
        watchers = self._watchers[message_id]
        watchers.remove(watcher)
        if not watchers:
            del self._watchers[message_id]
