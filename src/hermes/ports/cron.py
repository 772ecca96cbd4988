"""Scheduled jobs as they cross the store port: the rule, the job, one run of it, and who may ask.

Times are instants in seconds; a rule is data, which `schedule/cron_rule.py` reckons with.
"""

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from hermes.message.source import Source
from hermes.ports.inbox import AcceptResult, NewMessage

LAST_DAY: Final = 32
CRON_ROUTE: Final = "cron"


class Rule(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """When a job runs: at times of a day, at minutes of every hour, every so many seconds, or once.

    `times` are minutes since midnight, on the clocks of `zone`. What is empty leaves nothing out;
    weekdays count from Sunday, 0. With `is_either` a day fits by its number or its weekday, as cron
    has it. `every_days` counts from the day `first_day`, `every_s` from the instant `since`.
    """

    zone: str
    times: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    days: tuple[int, ...] = ()
    months: tuple[int, ...] = ()
    weekdays: tuple[int, ...] = ()
    is_either: bool = False
    every_days: int = 0
    first_day: int = 0
    every_s: int = 0
    since: float = 0.0
    once: float | None = None


class CronOrigin(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The owner of a job and where it was made: its turns run on `lane`, as if they wrote there.

    `was_person` is whose it was before it went to another person with its channel.
    """

    person_id: str
    source: Source
    account: str
    lane: str
    agent: str | None = None
    was_person: str = ""


class CronTask(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What a job does and when; `words` say the rule, `target` is empty for where it was made.

    One that an operator made may be sent where its person has never been.
    """

    origin: CronOrigin
    text: str
    rule: Rule
    words: str
    target: str = ""
    is_operators: bool = False


class NewCronJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job to keep, unless its person has `most` already.

    Finished ones that ended before `forget_before` make room.
    """

    id: str
    task: CronTask
    at: float
    next_at: float
    most: int
    forget_before: float


class CronJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job as it stands; without `next_at` it has run for the last time.

    `task` is None once its person was erased; `outcome` is that of the last run, as long as its
    message is kept.
    """

    id: str
    person_id: str
    task: CronTask | None
    created_at: float
    next_at: float | None
    paused_at: float | None = None
    reason: str | None = None
    last_at: float | None = None
    last_message: str | None = None
    runs: int = 0
    missed: int = 0
    missed_at: float | None = None
    outcome: str | None = None


class CronRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run: the job moves from `expected` to `next_at`, and its message is kept, in one unit.

    `at` is the instant that the message is named by; `missed` are due instants that are left out.
    A run that is `by_hand` passes a pause.
    """

    job_id: str
    person_id: str
    expected: float | None
    next_at: float | None
    at: float
    message: NewMessage
    missed: int = 0
    by_hand: bool = False


class CronStore(Protocol):
    """Jobs that time starts."""

    async def add(self, new: NewCronJob) -> CronJob:
        """Keep a job, once; raises `Conflict` where the person has as many as may be."""
        ...

    async def get(self, job_id: str) -> CronJob | None:
        """Return one job."""
        ...

    async def of_person(self, person_id: str) -> tuple[CronJob, ...]:
        """Return the jobs of a person, the oldest first."""
        ...

    async def page(self, *, limit: int) -> tuple[CronJob, ...]:
        """Return everybody's jobs, the next to run first."""
        ...

    async def due(self, now: float, *, limit: int) -> tuple[CronJob, ...]:
        """Return jobs that are due, the longest first."""
        ...

    async def waiting(self) -> tuple[CronJob, ...]:
        """Return every job that is to run some time and is not paused."""
        ...

    async def next_due_at(self) -> float | None:
        """Return when the next job becomes due."""
        ...

    async def set(
        self,
        job: CronJob,
        *,
        next_at: float | None,
        paused_at: float | None = None,
        reason: str | None = None,
    ) -> bool:
        """Move, pause or resume a job; false if it has moved on since it was read."""
        ...

    async def remove(self, job_id: str) -> bool:
        """Forget a job; false if there is none."""
        ...

    async def run(
        self, run: CronRun, *, kept: Callable[[AcceptResult], None]
    ) -> AcceptResult | None:
        """Move a job on and keep its message in one unit; None if another has moved it before.

        An instant whose message is known is not run again: the job only moves on.
        """
        ...


class Scheduler(Protocol):
    """What chat commands, tools and operators do with jobs; `person_id` keeps to one's own."""

    async def origin(self, message_id: str) -> CronOrigin:
        """Return who wrote a message and where; raises `Forbidden` inside a scheduled turn."""
        ...

    async def add(
        self, origin: CronOrigin, *, when: str, text: str, to: str = "", name: str = ""
    ) -> CronJob:
        """Keep a job; raises `BadRequest` that says what was not understood.

        Of one `name` there is one job, however often it is asked for.
        """
        ...

    async def of_person(self, person_id: str) -> tuple[CronJob, ...]:
        """Return the jobs of a person."""
        ...

    async def get(
        self, name: str, *, person_id: str | None = None, lane: str | None = None
    ) -> CronJob:
        """Return a job by its id, or by its beginning or end; raises `NotFound`.

        Raises `BadRequest` with the ids if several fit. With a `lane`, jobs of other conversations
        are not named.
        """
        ...

    async def pause(self, name: str, *, person_id: str | None = None) -> CronJob:
        """Pause a job."""
        ...

    async def resume(self, name: str, *, person_id: str | None = None) -> CronJob:
        """Let a job run again, from now on."""
        ...

    async def run(self, name: str, *, person_id: str | None = None) -> str:
        """Run a job now, beside its times; return the message's id."""
        ...

    async def remove(self, name: str, *, person_id: str | None = None) -> CronJob:
        """Forget a job."""
        ...

    def tell(self, job: CronJob) -> str:
        """Return a job in one line, with times in its own time zone."""
        ...

    async def output(self, job: CronJob) -> str:
        """Return what the last run answered, whole; raises `NotFound` where nothing is kept."""
        ...
