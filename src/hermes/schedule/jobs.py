"""Runs the jobs that turns and dreams left behind, and ends each with its changes.

A crash repeats a job. A job that fails is delayed, and after five failures it waits until its
session continues or the next dream is due. For a day, it is no failure if no service is called
because a circuit breaker is open. The platform pays for the calls, under its cap and the
kill switch.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from hermes.calls.call_charge import SpendLog
from hermes.errors import Conflict, HermesError, NoSummaryModel, ProviderCooling, TryLater
from hermes.memory.dream import dream_request, facts_for, read_dream
from hermes.memory.extraction import ExtractedFacts, extraction_request, read_extraction
from hermes.ports.compaction import COMPACT
from hermes.ports.dreams import DREAM, Dream, dream_key
from hermes.ports.memory import EXTRACT, Job
from hermes.ports.spend import SpendEntry
from hermes.schedule.compaction import Compactor
from hermes.schedule.job_services import JobServices, ask_model
from hermes.schedule.rounds import Rounds
from hermes.sessions.compaction_rules import is_on_anywhere

_MOST_FAILURES = 5
_RETRY_S = 60.0
# Refusals by an open breaker count as failures after this time, and are repeated no later than this.
_COOLING_S = 86_400.0
_LONGEST_REST_S = 3_600.0
_EXCHANGES_AT_ONCE = 50
# A shorter pause is checked for as often as it is long.
LOOK_S = 5.0
_JOBS_A_ROUND = 20
_log = structlog.get_logger(__name__)


class JobWorker:
    """One task that runs due jobs one at a time; an operator's order does not wait for it."""

    def __init__(self, job_services: JobServices, *, every_s: float = LOOK_S) -> None:
        self._shop = job_services
        self._dreamer = Dreamer(job_services)
        self._compactor = Compactor(job_services)
        self._rounds = Rounds("jobs", self._all, every_s=every_s)
        self._doing: set[str] = set()
        self._has_told = False

    def start(self) -> None:
        """Start looking for jobs, if any kind of job is enabled."""
        if self._kinds():
            self._rounds.start()

    def wake(self) -> None:
        """Look for jobs now: one became due."""
        self._rounds.wake()

    async def stop(self) -> None:
        """Stop; the next process repeats a job that is cut off."""
        await self._rounds.stop()

    def _kinds(self) -> tuple[str, ...]:
        settings = self._shop.settings
        kinds = (
            (EXTRACT, settings.memory.extract),
            (DREAM, settings.memory.dream),
            (COMPACT, is_on_anywhere(settings)),
        )
        return tuple(kind for kind, on in kinds if on)

    async def _all(self) -> None:
        """Run all due jobs."""
        while await self.round() >= _JOBS_A_ROUND:
            pass

    async def round(self) -> int:
        """Run the due jobs, each once; return how many were tried."""
        shop, kinds = self._shop, self._kinds()
        if DREAM in kinds:
            await self._dreamer.begin_next()
        due = await shop.jobs.due(shop.clock.now(), limit=_JOBS_A_ROUND, kinds=kinds)
        tried = 0
        for job in due:
            if job.key not in self._doing:
                tried += 1
                with self._busy_with(job.key):
                    await self._try(job)
        return tried

    async def dream_now(self, person_id: str) -> Dream | None:
        """Run the dream of a person now, whatever the settings say; return the result.

        Raises why it failed; the job then waits like any other.
        """
        shop, key = self._shop, dream_key(person_id)
        if key in self._doing:
            raise Conflict("A dream of this person is running now: try again in a moment.")
        with self._busy_with(key):
            error = await self._try(await shop.dreams.begin(person_id, at=shop.clock.now()))
        if error is not None:
            raise error
        return await shop.dreams.of(person_id)

    @contextmanager
    def _busy_with(self, key: str) -> Iterator[None]:
        self._doing.add(key)
        try:
            yield
        finally:
            self._doing.discard(key)

    async def _try(self, job: Job) -> HermesError | None:
        """Run a job; return why it failed, or None."""
        receipt = SpendLog()
        try:
            await self._do(job, receipt)
        except HermesError as error:
            await self._failed(job, error, spent=receipt.take())
            return error
        return None

    async def _do(self, job: Job, receipt: SpendLog) -> None:
        if job.kind == DREAM:
            await self._dreamer.do(job, receipt)
        elif job.kind == COMPACT:
            await self._compactor.do(job, receipt)
        else:
            await self._learn(job, receipt)

    async def _failed(self, job: Job, error: HermesError, *, spent: tuple[SpendEntry, ...]) -> None:
        """Delay a job; a kill switch or a used-up budget does not park it."""
        shop, reason = self._shop, f"{error.code}: {error}"[:500]
        due_at, counts = _next_try(job, error, now=shop.clock.now())
        if isinstance(error, NoSummaryModel):
            self._tell_once(reason)
        else:
            event = "job_failed" if due_at else "job_parked"
            _log.warning(event, kind=job.kind, person_id=job.person_id, problem=reason)
        await shop.jobs.put_off(job, due_at=due_at, reason=reason, spent=spent, counts=counts)

    def _tell_once(self, reason: str) -> None:
        """Log that jobs wait for a setting: every job does, and none of them is news."""
        if not self._has_told:
            self._has_told = True
            _log.warning("summaries_wait", problem=reason, setting="routing.cloud_summaries")

    async def _learn(self, job: Job, receipt: SpendLog) -> None:
        shop = self._shop
        lessons = await shop.jobs.lessons(job, limit=_EXCHANGES_AT_ONCE)
        found = ExtractedFacts()
        if lessons.heard:
            request = extraction_request(
                lessons.heard, await shop.facts.of(job.person_id), shop.facts.keys
            )
            model = shop.settings.memory.extract_model
            text = await ask_model(shop, request, kind=job.kind, model=model, receipt=receipt)
            found = read_extraction(
                text, lessons.heard, limits=shop.facts.limits, keys=shop.facts.keys
            )
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


def _next_try(job: Job, error: HermesError, *, now: float) -> tuple[float | None, bool]:
    """Return when a job is tried again (None: not by itself), and whether this uses up an attempt."""
    if isinstance(error, ProviderCooling) and now < job.latest_at + _COOLING_S:
        return now + min(_LONGEST_REST_S, max(_RETRY_S, error.retry_after or 0.0)), False
    if job.attempts + 1 >= _MOST_FAILURES and not isinstance(error, TryLater):
        return None, True
    return now + _RETRY_S * 2 ** min(job.attempts, _MOST_FAILURES), True


_DAY_S = 86_400.0
_PEOPLE_AT_ONCE = 500
_MESSAGES = 50


class Dreamer:
    """Starts dreams and runs them."""

    def __init__(self, job_services: JobServices) -> None:
        self._shop = job_services
        # Where to continue; a new process starts over, which loses nothing.
        self._after = ""

    async def begin_next(self) -> Job | None:
        """Start the next dream, if it is time and somebody needs one."""
        shop, settings = self._shop, self._shop.settings.memory
        now, last = shop.clock.now(), await shop.dreams.last_begun_at()
        if last is not None and now < last + _DAY_S / settings.dreams_a_day:
            return None
        person_id, self._after = await shop.dreams.next_person(
            before=now - settings.dream_days * _DAY_S, after=self._after, limit=_PEOPLE_AT_ONCE
        )
        return None if person_id is None else await shop.dreams.begin(person_id, at=now)

    async def do(self, job: Job, receipt: SpendLog) -> None:
        """Summarise what is known of a person and finish the job; without news, ask no model."""
        shop = self._shop
        facts = facts_for(await shop.facts.of(job.person_id))
        lately, dream = await shop.dreams.lately_said(job, limit=_MESSAGES), None
        if facts or lately.said:
            memory = shop.settings.memory
            before = await shop.dreams.of(job.person_id)
            request = dream_request(facts, lately.said, before=before, most_gaps=memory.dream_gaps)
            model = memory.dream_model
            text = await ask_model(shop, request, kind=job.kind, model=model, receipt=receipt)
            dream = read_dream(
                text,
                at=shop.clock.now(),
                most_gaps=memory.dream_gaps,
                limit=memory.value_chars,
            )
        is_done = await shop.dreams.finish(
            job,
            dream,
            covered=lately.covered,
            seen=[fact.id for fact in facts],
            spent=receipt.take(),
        )
        _log.info(
            "dreamt" if is_done else "dream_outdated",
            person_id=job.person_id,
            insights=0 if dream is None else len(dream.insights),
            gaps=0 if dream is None else len(dream.gaps),
        )
