"""Fills the search index in small steps beside running turns.

It does not hurry, because a search updates the index first. The next process repeats a step that is
cut off.
"""

import asyncio

import structlog

from hermes.ports.search import Search

_PAUSE_S = 0.02
_EVERY_S = 15.0
_log = structlog.get_logger(__name__)


class SearchFill:
    """One task that keeps the index up to date."""

    def __init__(
        self, search: Search, *, every_s: float = _EVERY_S, pause_s: float = _PAUSE_S
    ) -> None:
        self._search = search
        self._every_s = every_s
        self._pause_s = pause_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start filling."""
        self._task = asyncio.create_task(self._rounds(), name="search")

    async def stop(self) -> None:
        """Stop; the index stays open."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _rounds(self) -> None:
        while True:
            try:
                has_more = await self._search.fill()
            except Exception:  # noqa: BLE001  worker boundary: the next round tries again
                _log.exception("search_filling_failed")
                has_more = False
            # Turns go first: the rest of the backlog waits for a moment.
            await self._search.wait_for_work(self._pause_s if has_more else self._every_s)
