"""Scheduled jobs: one transaction advances a job and writes the message of its run.

The message id is made from the job and its instant, so no crash and no second process runs one
twice.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from hermes.errors import Conflict, GuardFailed, NotFound
from hermes.ports.cron import CronJob, CronRun, CronTask, NewCronJob
from hermes.ports.inbox import AcceptResult
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.inbox import SqlInbox, WrittenMessage
from hermes.store.sql.places import job_place
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Tx

_SQL = load("cron")
_PEOPLE = load("people")
_decode = msgspec.json.Decoder(CronTask).decode


class SqlCron:
    """Implements `ports.cron.CronStore`."""

    def __init__(self, engine: Engine, *, inbox: SqlInbox) -> None:
        self._engine = engine
        self._inbox = inbox

    async def add(self, new: NewCronJob) -> CronJob:
        """Save a job, once; raises `Conflict` if the person has too many."""
        person_id = new.task.origin.person_id

        async def unit(tx: Tx) -> None:
            if await tx.row(_SQL["get"], new.id) is not None:
                return
            tx.put(_SQL["forget_finished"], person_id, new.forget_before)
            count = await tx.one(_SQL["count"], person_id)
            if count >= new.most:
                raise Conflict(
                    f"There are {count} scheduled jobs already, as many as cron.jobs_per_person "
                    "allows: remove one first."
                )
            sealed = await self._engine.sealer.seal(
                tx, person_id, encode(new.task), place=job_place(new.id)
            )
            tx.put(_SQL["add"], new.id, person_id, sealed, new.at, new.next_at)

        await self._engine.writer.run("add_cron", unit)
        job = await self.get(new.id)
        if job is None:
            raise NotFound(f"The job {new.id} was removed just now.")
        return job

    async def get(self, job_id: str) -> CronJob | None:
        """Return one job."""
        row = await self._engine.reads.row(_SQL["get"], job_id)
        return None if row is None else await self._job(row)

    async def of_person(self, person_id: str) -> tuple[CronJob, ...]:
        """Return the jobs of a person, oldest first."""
        return await self._jobs(_SQL["of_person"], person_id)

    async def page(self, *, limit: int) -> tuple[CronJob, ...]:
        """Return everyone's jobs, the next to run first."""
        return await self._jobs(_SQL["page"], limit)

    async def due(self, now: float, *, limit: int) -> tuple[CronJob, ...]:
        """Return due jobs, the longest due first."""
        return await self._jobs(_SQL["due"], now, limit)

    async def waiting(self) -> tuple[CronJob, ...]:
        """Return every job that has a next run and is not paused."""
        return await self._jobs(_SQL["waiting"])

    async def next_due_at(self) -> float | None:
        """Return when the next job becomes due."""
        due_at: float | None = await self._engine.reads.one(_SQL["next_due"])
        return due_at

    async def set(
        self,
        job: CronJob,
        *,
        next_at: float | None,
        paused_at: float | None = None,
        reason: str | None = None,
    ) -> bool:
        """Move, pause or resume a job; False if it has changed since it was read."""

        async def unit(tx: Tx) -> bool:
            bindings = (job.id, job.next_at, next_at, paused_at, reason, job.paused_at)
            return await tx.changed(_SQL["set"], *bindings) == 1

        return await self._engine.writer.run("set_cron", unit)

    async def remove(self, job_id: str) -> bool:
        """Delete a job; False if there is none."""

        async def unit(tx: Tx) -> bool:
            return await tx.changed(_SQL["remove"], job_id) == 1

        return await self._engine.writer.run("remove_cron", unit)

    async def run(
        self, run: CronRun, *, kept: Callable[[AcceptResult], None]
    ) -> AcceptResult | None:
        """Advance a job and write its message in one transaction; None if already advanced."""

        def after(written: WrittenMessage) -> None:
            self._inbox.count(written)
            if not written.result.duplicate:
                kept(written.result)

        try:
            written = await self._engine.writer.run(
                "run_cron", lambda tx: self._run(tx, run), after=after
            )
        except GuardFailed:
            return None
        return written.result

    async def _run(self, tx: Tx, run: CronRun) -> WrittenMessage:
        source = run.message.event.source
        owner = await tx.row(_PEOPLE["find"], *source.sender)
        if owner is None or owner[0] != run.person_id:
            raise GuardFailed(f"job {run.job_id}: its account belongs to another person")
        written = await self._inbox.keep(tx, run.message)
        moved_on = GuardFailed(f"job {run.job_id} has moved on")
        job = (run.job_id, run.expected, run.next_at)
        if written.result.duplicate:
            tx.must(_SQL["move"], *job, error=moved_on)
        else:
            ran = (run.at, run.message.id, run.missed, run.person_id, run.by_hand)
            tx.must(_SQL["run"], *job, *ran, error=moved_on)
        return written

    # Any: what the query is bound to.
    async def _jobs(self, sql: str, *bindings: Any) -> tuple[CronJob, ...]:
        rows = await self._engine.reads.rows(sql, *bindings)
        return tuple([await self._job(row) for row in rows])

    # Any: SQLite's values, in the order of the columns that each query names.
    async def _job(self, row: tuple[Any, ...]) -> CronJob:
        content = await self._engine.sealer.open(
            self._engine.reads, row[1], row[2], place=job_place(row[0])
        )
        return CronJob(
            id=row[0],
            person_id=row[1],
            task=None if content is None else _decode(content),
            created_at=row[3],
            next_at=row[4],
            paused_at=row[5],
            reason=row[6],
            last_at=row[7],
            last_message=row[8],
            runs=row[9],
            missed=row[10],
            missed_at=row[11],
            outcome=row[12],
        )


def forget_cron(tx: Tx, person_id: str) -> None:
    """Delete the jobs of an erased person, inside that transaction."""
    tx.put(_SQL["forget_person"], person_id)


async def hand_over_jobs(tx: Tx, before: str, after: str, *, sealer: Sealer) -> int:
    """Give a person's jobs to another one, inside a transaction; return how many."""
    tasks = await _tasks_of(tx, before, sealer=sealer)
    for job_id, task in tasks.items():
        first = task.origin.was_person or before
        await _give(
            tx, job_id, task, person_id=after, was="" if first == after else first, sealer=sealer
        )
    return len(tasks)


async def return_jobs(
    tx: Tx, channel: tuple[str, str], *, before: str, after: str, sealer: Sealer
) -> int:
    """Give jobs back that were made on a channel, with which they had come; return how many."""
    tasks = await _tasks_of(tx, before, sealer=sealer)
    own = {
        job_id: task
        for job_id, task in tasks.items()
        if task.origin.was_person == after and task.origin.source.sender == channel
    }
    for job_id, task in own.items():
        await _give(tx, job_id, task, person_id=after, was="", sealer=sealer)
    return len(own)


async def _tasks_of(tx: Tx, person_id: str, *, sealer: Sealer) -> dict[str, CronTask]:
    found: dict[str, CronTask] = {}
    for job_id, sealed in await tx.rows(_SQL["sealed_of"], person_id):
        content = await sealer.open(tx, person_id, sealed, place=job_place(job_id))
        if content is not None:
            found[job_id] = _decode(content)
    return found


async def _give(
    tx: Tx, job_id: str, task: CronTask, *, person_id: str, was: str, sealer: Sealer
) -> None:
    """Make a job another person's, under their key."""
    origin = msgspec.structs.replace(task.origin, person_id=person_id, was_person=was)
    given = encode(msgspec.structs.replace(task, origin=origin))
    sealed = await sealer.seal(tx, person_id, given, place=job_place(job_id))
    tx.put(_SQL["hand_over"], job_id, person_id, sealed)
