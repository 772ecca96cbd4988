"""Upkeep: approvals that nobody decided expire, and finished messages are forgotten in time."""

import asyncio
from collections.abc import Callable

import structlog

from hermes.config import StoreSettings
from hermes.errors import GuardFailed, HermesError
from hermes.ports.clock import Clock
from hermes.ports.store import Store

_DAY_S = 86_400.0
_PURGE_AT_ONCE = 500
_log = structlog.get_logger(__name__)


class Upkeep:
    """One task that looks after the store every `every_s` seconds."""

    def __init__(
        self,
        store: Store,
        *,
        wake: Callable[[str], None],
        clock: Clock,
        settings: StoreSettings,
        every_s: float = 30.0,
    ) -> None:
        self._store = store
        self._wake = wake
        self._clock = clock
        self._settings = settings
        self._every_s = every_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin the rounds."""
        self._task = asyncio.create_task(self._rounds(), name="upkeep")

    async def stop(self) -> None:
        """End the rounds."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _rounds(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            try:
                await self.round()
            except HermesError as error:
                _log.error("upkeep_failed", problem=str(error))

    async def round(self) -> None:
        """Do what is due."""
        await self._expire_approvals()
        before = self._clock.now() - self._settings.retention_days * _DAY_S
        purged = await self._store.purge(before, limit=_PURGE_AT_ONCE)
        if purged:
            _log.info("purged", messages=purged)

    async def _expire_approvals(self) -> None:
        now = self._clock.now()
        for approval_id in self._store.approvals.overdue(now):
            try:
                approval = await self._store.approvals.decide(
                    approval_id, "expired", by="upkeep", at=now
                )
            except GuardFailed:
                continue
            self._wake(approval.lane)
