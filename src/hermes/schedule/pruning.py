"""Pruning: deletes conversations that ended long ago, at most once a day.

Off unless `sessions.prune` is on. Conversations go one at a time, each whole and after
its subagents' conversations; a failure is logged and retried the next day.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from hermes.errors import HermesError
from hermes.ports.clock import Clock
from hermes.ports.sessions import OldConversation, PruningStore
from hermes.schedule.rounds import Rounds

_DAY_S = 86_400.0
_LOOK_S = 600.0
_GRAPHS_AT_ONCE = 100
_FORGOTTEN_AT_ONCE = 500
_log = structlog.get_logger(__name__)
# Called with the numbers of deleted graphs, so that a search finds nothing of them.
Forget = Callable[[Sequence[int]], Awaitable[None]]


class SessionPruner:
    """One task that looks for old conversations once a day."""

    def __init__(
        self, store: PruningStore, *, days: int, forget: Forget | None, clock: Clock
    ) -> None:
        self._store = store
        self._days = days
        self._forget = forget
        self._clock = clock
        self._rounds = Rounds("pruning", self.round, every_s=_LOOK_S)

    def start(self) -> None:
        """Start the rounds, if pruning is enabled."""
        if self._days:
            self._rounds.start()

    async def stop(self) -> None:
        """Stop the rounds."""
        await self._rounds.stop()

    async def round(self) -> int:
        """Prune what is old, unless done today; return how many conversations were deleted."""
        now = self._clock.now()
        if not self._days or not await self._store.begin(now, every_s=_DAY_S):
            return 0
        before = now - self._days * _DAY_S
        gone: list[int] = []
        count = 0
        next_: int | None = 0
        try:
            while next_ is not None:
                next_, found = await self._store.old(
                    before=before, after=next_, limit=_GRAPHS_AT_ONCE
                )
                for old in found:
                    count += await self._try(old, before=before, gone=gone)
                if len(gone) >= _FORGOTTEN_AT_ONCE:
                    await self._forget_all(gone)
                # Turns continue between two checks.
                await asyncio.sleep(0)
        finally:
            await self._forget_all(gone)
            if count:
                _log.info("conversations_pruned", count=count, days=self._days)
        if count:
            await self._collect()
        return count

    async def _collect(self) -> None:
        """Delete what only the deleted conversations used; a failure is made up for the next time."""
        try:
            if count := await self._store.collect():
                _log.info("unused_tools_pruned", count=count)
        except HermesError as error:
            _log.warning("unused_tools_not_pruned", problem=str(error))

    async def _try(self, old: OldConversation, *, before: float, gone: list[int]) -> int:
        """Prune one conversation; a failure does not stop the others."""
        try:
            return await self._prune(old, before=before, gone=gone)
        except HermesError as error:
            _log.warning("conversation_not_pruned", graph=old.graph, problem=str(error))
            return 0

    async def _prune(self, old: OldConversation, *, before: float, gone: list[int]) -> int:
        count = 0
        for name in old.children:
            child = await self._store.find(name, before=before)
            if child is not None:
                count += await self._prune(child, before=before, gone=gone)
        if await self._store.prune(old, before=before):
            gone.append(old.graph)
            count += 1
        return count

    async def _forget_all(self, gone: list[int]) -> None:
        if gone and self._forget is not None:
            await self._forget(tuple(gone))
        gone.clear()
