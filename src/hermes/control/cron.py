"""Scheduled jobs as the operator sees and orders them, of everybody.

Orders are checked and worded here; what a schedule means and when it runs is decided in `schedule`.
"""

from typing import Literal

import msgspec
import structlog

from hermes.agents.roster import Roster
from hermes.control.consent import find_person
from hermes.errors import BadRequest, NotFound
from hermes.message.source import Source
from hermes.ports.cron import CronJob, CronOrigin
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store
from hermes.schedule.cron_text import spoken_time
from hermes.schedule.schedules import Schedules
from hermes.sessions.keys import SessionKeys

_log = structlog.get_logger(__name__)
_MOST_LISTED = 10_000
_ACCOUNT = "default"
JobState = Literal["waiting", "paused", "done"]


class JobsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whose jobs: `user` is `platform:user_id` or the id of a person; without it everybody's."""

    user: str = ""
    limit: WholeNumber = 200


class JobAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which job, by its id, or its beginning or end, and whether its last answer is wanted, too."""

    id: str
    output: bool = False


class JobOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An order about one job, by its id, or its beginning or end; by whom."""

    id: str
    by: str = ""


class NewJobOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job for somebody: when, what, and where the answer goes; by whom.

    `chat` is the direct chat that it runs in, otherwise that of the person themselves.
    """

    user: str
    when: str
    text: str
    to: str = ""
    chat: str = ""
    agent: str = ""
    by: str = ""


class JobLine(msgspec.Struct, frozen=True, kw_only=True):
    """A job; `when` is its rule read back, `next` its next run on the clocks of its zone."""

    id: str
    state: JobState
    person_id: str
    user: str
    text: str
    when: str
    zone: str
    target: str
    created_at: float
    next_at: float | None
    next: str
    runs: int
    last_at: float | None
    last_message: str | None
    outcome: str | None
    missed: int
    missed_at: float | None
    reason: str | None


class JobsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs, the next to run first."""

    jobs: tuple[JobLine, ...] = ()


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """One job as it is now; `output` is its last answer, `message_id` the run that was ordered."""

    job: JobLine
    output: str | None = None
    message_id: str | None = None


class CronOperations:
    """Where operators' orders about scheduled jobs arrive."""

    def __init__(
        self, store: Store, schedules: Schedules, *, roster: Roster, keys: SessionKeys
    ) -> None:
        self._keys = keys
        self._store = store
        self._schedules = schedules
        self._roster = roster

    async def list(self, ask: JobsAsk) -> JobsReport:
        """Return jobs of everybody, or of one person."""
        if not 1 <= ask.limit <= _MOST_LISTED:
            raise BadRequest(f"The limit is {ask.limit}: expected 1 to {_MOST_LISTED:,}.")
        if ask.user:
            person = await find_person(self._store.people, ask.user)
            jobs = (await self._store.cron.of_person(person.id))[: ask.limit]
        else:
            jobs = await self._store.cron.page(limit=ask.limit)
        return JobsReport(jobs=tuple(map(job_line, jobs)))

    async def show(self, ask: JobAsk) -> JobReport:
        """Return one job."""
        job = await self._schedules.get(ask.id)
        output = await self._schedules.output(job) if ask.output else None
        return JobReport(job=job_line(job), output=output)

    async def add(self, order: NewJobOrder) -> JobReport:
        """Make a job for a person, who pays for its runs."""
        job = await self._schedules.add(
            await self._origin(order),
            when=order.when,
            text=order.text,
            to=order.to,
            is_operators=True,
        )
        _log.info("cron_ordered", job_id=job.id, person_id=job.person_id, by=order.by)
        return JobReport(job=job_line(job))

    async def pause(self, order: JobOrder) -> JobReport:
        """Pause a job."""
        return self._done("paused", order, await self._schedules.pause(order.id))

    async def resume(self, order: JobOrder) -> JobReport:
        """Let a job run again."""
        return self._done("resumed", order, await self._schedules.resume(order.id))

    async def remove(self, order: JobOrder) -> JobReport:
        """Forget a job."""
        return self._done("removed", order, await self._schedules.remove(order.id))

    async def run(self, order: JobOrder) -> JobReport:
        """Run a job now, beside its times."""
        message_id = await self._schedules.run(order.id)
        report = self._done("run", order, await self._schedules.get(order.id))
        return msgspec.structs.replace(report, message_id=message_id)

    def _done(self, did: str, order: JobOrder, job: CronJob) -> JobReport:
        _log.info("cron_ordered", job_id=job.id, did=did, by=order.by)
        return JobReport(job=job_line(job))

    async def _origin(self, order: NewJobOrder) -> CronOrigin:
        person = await find_person(self._store.people, order.user)
        platform, separator, user_id = order.user.partition(":")
        if not separator:
            user = await self._store.users.get(person.id)
            if user is None or not user.channels:
                raise NotFound(f"{order.user[:80]!r} has no channel on which a job could answer.")
            platform, user_id = user.channels[0].platform, user.channels[0].user_id
        source = Source(platform=platform, chat_id=order.chat or user_id, user_id=user_id)
        agent = (
            await self._roster.get(order.agent)
            if order.agent
            else self._roster.for_source(source, person_id=person.id)
        )
        return CronOrigin(
            person_id=person.id,
            source=source,
            account=_ACCOUNT,
            lane=await self._keys.lane(source, agent.key),
            agent=None if agent.key == self._roster.default.key else agent.key,
        )


def job_line(job: CronJob) -> JobLine:
    """Return a job as it is shown."""
    state: JobState = "waiting" if job.next_at is not None else "done"
    task = job.task
    source = None if task is None else task.origin.source
    zone = "UTC" if task is None else task.rule.zone
    return JobLine(
        id=job.id,
        state="paused" if job.paused_at is not None else state,
        person_id=job.person_id,
        user="" if source is None else source.sender_name,
        text="" if task is None else task.text,
        when="" if task is None else task.words,
        zone=zone,
        target="" if task is None else task.target or "origin",
        created_at=job.created_at,
        next_at=job.next_at,
        next="" if job.next_at is None else spoken_time(job.next_at, zone),
        runs=job.runs,
        last_at=job.last_at,
        last_message=job.last_message,
        outcome=job.outcome,
        missed=job.missed,
        missed_at=job.missed_at,
        reason=job.reason,
    )
