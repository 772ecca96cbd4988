"""Ends each session that is over by its rule, even if nobody writes in it.

The same rounds release what is kept in memory for quiet sessions.

A session is checked once after its last use. Each round reads the sessions last used between the
cutoff of the round before and the current one; the first round after a start reads from the
beginning.
"""

from collections.abc import Callable, Sequence

import structlog

from hermes.config import ResetSettings
from hermes.ports.clock import Clock
from hermes.ports.sessions import EndReason, SessionStore, UnusedSession
from hermes.schedule.rounds import Rounds
from hermes.sessions.resets import Resets

_AT_ONCE = 500
_log = structlog.get_logger(__name__)
Ended = Callable[[str, EndReason], None]


class SessionWatch:
    """One task; `ended` is called for every session that it ends."""

    def __init__(
        self,
        sessions: SessionStore,
        resets: Resets,
        *,
        platforms: Sequence[str],
        ended: Ended,
        clock: Clock,
        every_s: float,
        sweep: Callable[[], None] = lambda: None,
    ) -> None:
        self._sessions = sessions
        self._resets = resets
        self._platforms = platforms
        self._ended = ended
        self._clock = clock
        self._sweep = sweep
        self._seen: dict[tuple[str, int], float] = {}
        self._rounds = Rounds("session_watch", self.round, every_s=every_s)

    def start(self) -> None:
        """Start the rounds."""
        self._rounds.start()

    async def stop(self) -> None:
        """Stop the rounds."""
        await self._rounds.stop()

    async def round(self) -> int:
        """End what is over; return how many sessions ended."""
        self._sweep()
        count = 0
        for number, rule in enumerate(self._resets.rules()):
            for platform in filter(self._resets.may_end, self._platforms):
                count += await self._look(platform, number, rule=rule)
        if count:
            _log.info("sessions_ended", count=count)
        return count

    async def _look(self, platform: str, number: int, *, rule: ResetSettings) -> int:
        since = self._seen.get((platform, number), 0.0)
        before = self._resets.cutoff(rule, self._clock.now())
        count = 0
        # After the clock was set back there is nothing new before the cutoff.
        while since < before:
            found = await self._sessions.unused(
                platform, since=since, before=before, limit=_AT_ONCE
            )
            for session in found:
                count += await self._end(session)
            if len(found) < _AT_ONCE:
                break
            # Few share one instant; the last of them are found again, and have already ended.
            since = max(found[-1].used_at, since + 1e-6)
        self._seen[platform, number] = max(before, since)
        return count

    async def _end(self, session: UnusedSession) -> bool:
        now = self._clock.now()
        reason = await self._resets.reason(
            session.lane, person_id=session.person_id, used_at=session.used_at, now=now
        )
        if reason is None:
            return False
        ended = await self._sessions.end(session.lane, epoch=session.epoch, reason=reason, at=now)
        if ended:
            self._ended(session.lane, reason)
        return ended
