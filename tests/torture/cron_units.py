"""The units about scheduled jobs for `store_kills`: what each does, and the job that stands before it."""

from collections.abc import Awaitable, Callable

from hermes.message.source import Source
from hermes.ports.cron import CronJob, CronOrigin, CronTask, NewCronJob, Rule
from hermes.ports.store import Store
from hermes.schedule.cron_run import due_run
from hermes.testing.manual_time import ManualClock
from tests.torture.people_units import person_of

Act = Callable[[Store, ManualClock], Awaitable[object]]
TABLES = {
    "cron_jobs": "id, person_id, next_at, paused_at, reason, last_at, last_message, runs, missed",
}
USER = "ann"


async def prepare_jobs(store: Store, clock: ManualClock) -> None:
    """Let one job be due, and have missed some runs."""
    await store.cron.add(await _new(store, clock, name="j_old", next_at=clock.now() - 7_200))


async def _new(store: Store, clock: ManualClock, *, name: str, next_at: float) -> NewCronJob:
    origin = CronOrigin(
        person_id=await person_of(store, USER),
        source=Source(platform="rest", chat_id=USER, user_id=USER),
        account="a",
        lane=USER,
    )
    rule = Rule(zone="UTC", every_s=3600, since=next_at)
    return NewCronJob(
        id=name,
        task=CronTask(origin=origin, text="hello", rule=rule, words="every hour"),
        at=clock.now(),
        next_at=next_at,
        most=10,
        forget_before=0.0,
    )


async def _add(store: Store, clock: ManualClock) -> None:
    await store.cron.add(await _new(store, clock, name="j_new", next_at=clock.now() + 60))


async def _set(store: Store, clock: ManualClock) -> None:
    job = await store.cron.get("j_old")
    assert job is not None
    await store.cron.set(job, next_at=job.next_at, paused_at=clock.now(), reason="a test")


async def _remove(store: Store, clock: ManualClock) -> None:
    await store.cron.remove("j_old")


async def _run(store: Store, clock: ManualClock) -> None:
    """Run what is due, as the worker of every process that finds it does."""
    for job in await store.cron.due(clock.now(), limit=10):
        await _run_one(store, clock, job)


async def _run_one(store: Store, clock: ManualClock, job: CronJob) -> None:
    assert job.task is not None
    run = due_run(job, job.task, now=clock.now(), make_id=lambda prefix: f"{prefix}_of_{job.id}")
    await store.cron.run(run, kept=lambda _: None)


UNITS: dict[str, Act] = {
    "store.add_cron": _add,
    "store.set_cron": _set,
    "store.remove_cron": _remove,
    "store.run_cron": _run,
}
