"""Tells a caller who waits for a turn what the turn does, if the caller has asked for it.

Bounded: a turn that tells very much is told about less often, and a caller that does not read hears
nothing more. The result never waits for any of it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Protocol

from hermes.errors import HermesError
from hermes.ports.clock import Clock
from hermes.ports.upward import Progress

# Sends how far a call is, and what it does: the number grows with each.
Report = Callable[[int, str], Awaitable[None]]
_TEXT_EVERY_S = 1.0
_BURST = 20
_A_SECOND = 5.0
_MOST_CHARS = 500


class WatchesTurns(Protocol):
    """The part of the gateway API that tells what a turn does."""

    def watch(self, message_id: str) -> AsyncIterator[Progress]: ...


class TurnReports:
    """What is reported of one turn; a `Report` of None reports nothing."""

    def __init__(self, message_id: str, report: Report | None, *, clock: Clock) -> None:
        self._message_id = message_id
        self._report = report
        self._clock = clock
        self._sent = 0
        self._chars = 0
        self._allowed = float(_BURST)
        self._looked_at = clock.monotonic()
        self._text_at = float("-inf")

    @asynccontextmanager
    async def during(self, api: WatchesTurns) -> AsyncIterator[None]:
        """Report as long as the block waits; nothing is awaited before it begins."""
        if self._report is None:
            yield
            return
        task = asyncio.create_task(self._follow(api, self._report), name="mcp progress")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _follow(self, api: WatchesTurns, report: Report) -> None:
        with suppress(HermesError):
            await self._tell(report, f"{self._message_id}: accepted")
            watching = aclosing(api.watch(self._message_id))  # type: ignore[type-var]
            async with watching as watched:
                async for progress in watched:
                    text = self._words(progress)
                    if text and self._has_room():
                        await self._tell(report, text)

    async def _tell(self, report: Report, text: str) -> None:
        self._sent += 1
        await report(self._sent, text[:_MOST_CHARS])

    def _words(self, progress: Progress) -> str:
        """Return what a progress event is to the caller; empty if it is not told."""
        kind, text = progress.kind, progress.text
        if kind == "tool":
            return f"runs {text}"
        if kind == "status":
            return text
        if kind == "restart":
            self._chars = 0
        if kind not in ("delta", "snapshot") or not text:
            return ""
        self._chars += len(text)
        now = self._clock.monotonic()
        if now - self._text_at < _TEXT_EVERY_S:
            return ""
        self._text_at = now
        return f"writes: {self._chars:,} characters so far"

    def _has_room(self) -> bool:
        """Return whether one more may be told now: some at once, then a few in a second."""
        now = self._clock.monotonic()
        passed, self._looked_at = now - self._looked_at, now
        self._allowed = min(_BURST, self._allowed + passed * _A_SECOND)
        if self._allowed < 1:
            return False
        self._allowed -= 1
        return True
