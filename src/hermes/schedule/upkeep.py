"""Upkeep: expires what nobody decided or served in time, and purges finished messages."""

from collections.abc import Awaitable, Callable

import structlog

from hermes.config import Settings
from hermes.errors import GuardFailed
from hermes.ports.clock import Clock
from hermes.ports.store import Store
from hermes.schedule.rounds import Rounds

_DAY_S = 86_400.0
_PURGE_AT_ONCE = 500
_log = structlog.get_logger(__name__)


class Upkeep:
    """One task that maintains the store at the start and every `every_s` seconds.

    `served` names the platforms whose senders expire replies themselves; `tidy` maintains the media
    cache.
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
        tidy: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._store = store
        self._wake = wake
        self._served = served
        self._clock = clock
        self._settings = settings
        self._tidy = tidy
        self._rounds = Rounds("upkeep", self.round, every_s=every_s)

    def start(self) -> None:
        """Start the rounds."""
        self._rounds.start()

    async def stop(self) -> None:
        """Stop the rounds."""
        await self._rounds.stop()

    async def round(self) -> None:
        """Do what is due."""
        await self._expire_approvals()
        await self._expire_deliveries()
        await self._drop_letters()
        before = self._clock.now() - self._settings.store.retention_days * _DAY_S
        while await self._store.purge(before, limit=_PURGE_AT_ONCE) == _PURGE_AT_ONCE:
            _log.info("purged", rows=_PURGE_AT_ONCE)
        await self._store.answers.forget(before=self._clock.now())
        await self._store.responses.forget(before=self._clock.now())
        await self._store.people.hide_erased(at=self._clock.now())
        await self._store.activity.tidy(self._clock.now())
        if self._tidy is not None:
            await self._tidy()

    async def _expire_approvals(self) -> None:
        now = self._clock.now()
        for approval_id in await self._store.approvals.overdue(now):
            try:
                approval = await self._store.approvals.decide(
                    approval_id, "expired", by="upkeep", at=now
                )
            except GuardFailed:
                continue
            self._wake(approval.lane)

    async def _drop_letters(self) -> None:
        """Drop dead letters that nobody handled in time; until then they keep their message."""
        now, letters = self._clock.now(), self._store.dead_letters
        before = now - self._settings.outbox.dead_letter_days * _DAY_S
        while dropped := await letters.lapse(before, at=now, limit=_PURGE_AT_ONCE):
            _log.info("dead_letters_dropped", count=dropped)

    async def _expire_deliveries(self) -> None:
        """Expire old replies on platforms that are gone or never connected."""
        now = self._clock.now()
        before = now - self._settings.outbox.max_age_s
        dead = await self._store.outbox.expire(before, served=self._served(), at=now)
        if dead:
            _log.warning("replies_too_old", count=dead)
