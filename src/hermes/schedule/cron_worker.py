"""Runs scheduled jobs when they are due, each instant once, by the wall clock.

If the clock jumps ahead, each job runs at most once, and the run says what was missed. If the clock
is set back, jobs run at their times again, but no instant runs twice.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.ports.clock import Clock
from hermes.ports.cron import CronJob, CronTask
from hermes.ports.inbox import AcceptResult
from hermes.ports.store import Store
from hermes.ports.upward import Wake
from hermes.schedule.cron_rule import next_after
from hermes.schedule.cron_run import due_run

_JOBS_A_ROUND = 50
_LOOK_S = 5.0
_LEAST_WAIT_S = 0.05
# A smaller difference is the clock being adjusted gradually.
_SET_BACK_S = 30.0
# A zone that this system no longer knows: not found is a KeyError, a folder an OSError.
_NO_ZONE = (KeyError, ValueError, OSError)
_log = structlog.get_logger(__name__)


class CronWorker:
    """One task that runs due jobs; `has_room` says whether messages are accepted now."""

    def __init__(
        self,
        store: Store,
        *,
        admits: Callable[[MessageEvent], Awaitable[bool]],
        has_room: Callable[[], bool],
        wake: Wake,
        clock: Clock,
        make_id: MakeId,
    ) -> None:
        self._store = store
        self._admits = admits
        self._has_room = has_room
        self._wake = wake
        self._clock = clock
        self._make_id = make_id
        self._task: asyncio.Task[None] | None = None
        # How far the wall clock is ahead of the monotonic one; unknown before the first check.
        self._ahead: float | None = None

    def start(self) -> None:
        """Start looking for jobs."""
        self._task = asyncio.create_task(self._rounds(), name="cron")

    async def stop(self) -> None:
        """Stop; a run is on disk whole or not at all."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _rounds(self) -> None:
        while True:
            wait = _LOOK_S
            try:
                await self.round()
                wait = await self.pause()
            except Exception:  # noqa: BLE001  worker boundary: the next round tries again
                _log.exception("cron_failed")
            await asyncio.sleep(wait)

    async def pause(self) -> float:
        """Return how long to wait before the next check."""
        due_at = await self._store.cron.next_due_at()
        if due_at is None:
            return _LOOK_S
        return min(_LOOK_S, max(_LEAST_WAIT_S, due_at - self._clock.now()))

    async def round(self) -> int:
        """Run what is due, each job once; return how many jobs were checked."""
        await self._mind_the_clock()
        if not self._has_room():
            return 0
        due = await self._store.cron.due(self._clock.now(), limit=_JOBS_A_ROUND)
        for job in due:
            await self._run(job)
        return len(due)

    async def _mind_the_clock(self) -> None:
        """After a start or a set-back clock, make jobs not wait for the old time."""
        ahead = self._clock.now() - self._clock.monotonic()
        before, self._ahead = self._ahead, ahead
        if before is not None and ahead >= before - _SET_BACK_S:
            return
        now = self._clock.now()
        for job in await self._store.cron.waiting():
            following = self._next_of(job, now)
            if following is not None and job.next_at is not None and following < job.next_at:
                await self._store.cron.set(job, next_at=following)
                _log.warning("cron_clock_set_back", job_id=job.id)

    def _next_of(self, job: CronJob, now: float) -> float | None:
        try:
            return None if job.task is None else next_after(job.task.rule, now)
        except _NO_ZONE:
            return None

    async def _run(self, job: CronJob) -> None:
        task = job.task
        if task is None:
            await self._store.cron.remove(job.id)
            return
        now = self._clock.now()
        try:
            run = due_run(job, task, now=now, make_id=self._make_id)
        except _NO_ZONE:
            await self._stop_job(job, f"the time zone {task.rule.zone} is no longer known here")
            return
        problem = await self._problem(job, task, run.message.event)
        if problem is not None:
            await self._stop_job(job, problem)
            return
        lane = run.message.lane

        def kept(result: AcceptResult) -> None:
            self._wake.arrived(lane, message_id=result.message_id, busy=run.message.busy)

        result = await self._store.cron.run(run, kept=kept)
        _log.info(
            "cron_run",
            job_id=job.id,
            message_id=None if result is None else result.message_id,
            is_new=result is not None and not result.duplicate,
            late_s=round(now - run.at),
            missed=run.missed,
        )

    async def _problem(self, job: CronJob, task: CronTask, event: MessageEvent) -> str | None:
        """Return why a job can no longer run for its owner."""
        source = task.origin.source
        channel_access = await self._store.users.channel_access(source.platform, source.user_id)
        if channel_access.person_id != job.person_id:
            return f"{source.sender_name} belongs to another person now"
        return None if await self._admits(event) else "its owner is no longer admitted"

    async def _stop_job(self, job: CronJob, reason: str) -> None:
        now = self._clock.now()
        await self._store.cron.set(job, next_at=job.next_at, paused_at=now, reason=reason)
        _log.warning("cron_paused", job_id=job.id, reason=reason)
