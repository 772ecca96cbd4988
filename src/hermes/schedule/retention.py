"""Retention by days: ends conversations that nobody uses any more, and erases people who are gone.

Off unless a setting gives the days. What has ended is deleted by `pruning`; each end and each erasure
is one transaction, so that after an interruption the next round continues.
"""

from collections.abc import Awaitable, Callable, Sequence

import structlog

from hermes.errors import HermesError
from hermes.ports.clock import Clock
from hermes.ports.sessions import EndReason, SessionStore
from hermes.schedule.rounds import Rounds

_DAY_S = 86_400.0
_LOOK_S = 600.0
_AT_ONCE = 500
_REASON: EndReason = "idle"
_log = structlog.get_logger(__name__)
# Returns some people of whom nothing came since then, by id, from the first one above an id.
FindSilent = Callable[[float, int, str], Awaitable[Sequence[str]]]
# Erases a person; raises `GuardFailed` if something came since then.
Erase = Callable[[str, float], Awaitable[object]]
Ended = Callable[[str, EndReason], None]


class Retention:
    """One task; 0 days keep everything."""

    def __init__(
        self,
        sessions: SessionStore,
        *,
        platforms: Sequence[str],
        conversation_days: int,
        people_days: int,
        ended: Ended,
        silent: FindSilent,
        erase: Erase,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._platforms = platforms
        self._conversation_days = conversation_days
        self._people_days = people_days
        self._ended = ended
        self._silent = silent
        self._erase = erase
        self._clock = clock
        self._rounds = Rounds("retention", self.round, every_s=_LOOK_S)

    def start(self) -> None:
        """Start the rounds, if anything is to be forgotten."""
        if self._conversation_days or self._people_days:
            self._rounds.start()

    async def stop(self) -> None:
        """Stop the rounds."""
        await self._rounds.stop()

    async def round(self) -> tuple[int, int]:
        """End what is unused, erase who is gone; return how many conversations and people."""
        ended = sum([await self._end_unused(platform) for platform in self._platforms])
        erased = await self._erase_silent()
        if ended or erased:
            _log.info("retention", ended=ended, erased=erased)
        return ended, erased

    async def _end_unused(self, platform: str) -> int:
        if not self._conversation_days:
            return 0
        now, count, since = self._clock.now(), 0, 0.0
        before = now - self._conversation_days * _DAY_S
        while True:
            found = await self._sessions.unused(
                platform, since=since, before=before, limit=_AT_ONCE
            )
            for one in found:
                if await self._sessions.end(one.lane, epoch=one.epoch, reason=_REASON, at=now):
                    self._ended(one.lane, _REASON)
                    count += 1
            if len(found) < _AT_ONCE:
                return count
            since = max(found[-1].used_at, since + 1e-6)

    async def _erase_silent(self) -> int:
        """Erase people; one who cannot be erased now is tried again in the next round."""
        if not self._people_days:
            return 0
        count, above = 0, ""
        before = self._clock.now() - self._people_days * _DAY_S
        while True:
            found = await self._silent(before, _AT_ONCE, above)
            count += sum([await self._is_erased(person_id, before) for person_id in found])
            if len(found) < _AT_ONCE:
                return count
            above = found[-1]

    async def _is_erased(self, person_id: str, silent_since: float) -> bool:
        try:
            await self._erase(person_id, silent_since)
        except HermesError as error:
            _log.warning("person_not_erased", person_id=person_id, problem=str(error))
            return False
        return True
