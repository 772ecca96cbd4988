"""Afterwork: takes the jobs that turns left behind, one at a time, and ends each with what it changes.

A crash repeats a job; one that fails is put off, and given up after five failures until its session
goes on. The platform pays for the calls, under its cap and the kill switch.
"""

import asyncio
from contextlib import aclosing

import msgspec
import structlog

from hermes.calls.bill import Receipt
from hermes.calls.budgets import Purse
from hermes.calls.events import Answered
from hermes.calls.planning import Planner
from hermes.calls.walk import Calls, Wish
from hermes.config import Settings
from hermes.errors import HermesError, ProviderRejected, TryLater
from hermes.memory.extraction import Extracted, extraction_request, read_extraction
from hermes.memory.facts import PeoplesFacts
from hermes.message.ids import MakeId
from hermes.message.parts import text_of
from hermes.ports.clock import Clock
from hermes.ports.memory import Job, JobStore, Lessons
from hermes.ports.spend import PLATFORM, Account, Spent
from hermes.routing.plan import Ask

_MOST_FAILURES = 5
_RETRY_S = 60.0
_EXCHANGES_AT_ONCE = 50
_LOOK_S = 5.0
_JOBS_A_ROUND = 20
_log = structlog.get_logger(__name__)


class Workshop(msgspec.Struct, frozen=True, kw_only=True):
    """What jobs are done with."""

    jobs: JobStore
    facts: PeoplesFacts
    planner: Planner
    calls: Calls
    settings: Settings
    clock: Clock
    make_id: MakeId


class JobWorker:
    """One task that does what is due."""

    def __init__(self, workshop: Workshop, *, every_s: float = _LOOK_S) -> None:
        self._shop = workshop
        self._every_s = every_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look for jobs."""
        self._task = asyncio.create_task(self._rounds(), name="jobs")

    async def stop(self) -> None:
        """End; a job that is cut off is done again by the next process."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _rounds(self) -> None:
        while True:
            try:
                await self.round()
            except Exception:  # noqa: BLE001  worker boundary: the next round tries again
                _log.exception("jobs_failed")
            await asyncio.sleep(self._every_s)

    async def round(self) -> int:
        """Do the jobs that are due, each once; returns how many were tried."""
        due = self._shop.jobs.due(self._shop.clock.now(), limit=_JOBS_A_ROUND)
        for job in due:
            await self._do(job)
        return len(due)

    async def _do(self, job: Job) -> None:
        receipt = Receipt()
        try:
            await self._learn(job, receipt)
        except HermesError as error:
            await self._failed(job, error, spent=receipt.take())

    async def _failed(self, job: Job, error: HermesError, *, spent: tuple[Spent, ...]) -> None:
        """Let a job wait; that models are stopped or the budget is used up is not its fault."""
        shop, reason = self._shop, f"{error.code}: {error}"[:500]
        due_at: float | None = shop.clock.now() + _RETRY_S * 2 ** min(job.attempts, _MOST_FAILURES)
        if job.attempts + 1 >= _MOST_FAILURES and not isinstance(error, TryLater):
            due_at = None
        _log.warning(
            "job_failed" if due_at else "job_parked",
            kind=job.kind,
            person_id=job.person_id,
            problem=reason,
        )
        await shop.jobs.put_off(job, due_at=due_at, reason=reason, spent=spent)

    async def _learn(self, job: Job, receipt: Receipt) -> None:
        shop = self._shop
        lessons = shop.jobs.lessons(job, limit=_EXCHANGES_AT_ONCE)
        found = await self._ask(job, lessons, receipt=receipt) if lessons.heard else Extracted()
        decide = shop.facts.merging(job.person_id, found.learnt, forget=found.forget)
        change = await shop.jobs.finish(job, decide, covered=lessons.covered, spent=receipt.take())
        if change:
            await shop.facts.changed(job.person_id)
        _log.info(
            "learnt",
            person_id=job.person_id,
            messages=len(lessons.heard),
            kept=len(change.put),
            forgotten=len(change.forget),
        )

    async def _ask(self, job: Job, lessons: Lessons, *, receipt: Receipt) -> Extracted:
        shop, settings = self._shop, self._shop.settings
        request = extraction_request(lessons.heard, shop.facts.of(job.person_id))
        plan = await shop.planner.plan(
            Ask(default_model=settings.memory.extract_model or settings.models.default)
        )
        purse = Purse(account=Account(person_id=PLATFORM, channel=job.kind))
        wish = Wish(call_id=shop.make_id("c"), request=request, purse=purse, whole=True)
        async with aclosing(shop.calls.run(wish, plan, receipt=receipt)) as events:
            async for event in events:
                if isinstance(event, Answered):
                    return read_extraction(text_of(event.end.parts), lessons.heard)
        raise ProviderRejected("the model that learns gave no answer")
