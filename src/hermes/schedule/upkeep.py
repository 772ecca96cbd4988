"""Upkeep: what nobody decided or served in time expires, and finished messages are forgotten."""

import asyncio
from collections.abc import Callable

import structlog

from hermes.config import Settings
from hermes.errors import GuardFailed
from hermes.ports.clock import Clock
from hermes.ports.store import Store

_DAY_S = 86_400.0
_PURGE_AT_ONCE = 500
_log = structlog.get_logger(__name__)


class Upkeep:
    """One task that looks after the store at the start and every `every_s` seconds.

    `served` names the platforms whose replies a sender looks after itself.
    """

    def __init__(
        self,
        store: Store,
        *,
        wake: Callable[[str], None],
        served: Callable[[], tuple[str, ...]],
        clock: Clock,
        settings: Settings,
        every_s: float = 30.0,
    ) -> None:
        self._store = store
        self._wake = wake
        self._served = served
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
            try:
                await self.round()
            except Exception:  # noqa: BLE001  upkeep boundary: the next round tries again
                _log.exception("upkeep_failed")
            await asyncio.sleep(self._every_s)

    async def round(self) -> None:
        """Do what is due."""
        await self._expire_approvals()
        await self._expire_deliveries()
        before = self._clock.now() - self._settings.store.retention_days * _DAY_S
        while await self._store.purge(before, limit=_PURGE_AT_ONCE) == _PURGE_AT_ONCE:
            _log.info("purged", rows=_PURGE_AT_ONCE)
        await self._store.answers.forget(before=self._clock.now())

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

    async def _expire_deliveries(self) -> None:
        """Let replies die of age on platforms that are gone or never connected."""
        now = self._clock.now()
        before = now - self._settings.outbox.max_age_s
        dead = await self._store.outbox.expire(before, served=self._served(), at=now)
        if dead:
            _log.warning("replies_too_old", count=dead)
