"""The operator's operations for scheduled jobs: whose they are, where they run, and what is refused."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.app.make_schedule import make_cron_operations, make_schedules
from hermes.config import Settings
from hermes.control.cron import CronOperations, JobAsk, JobOrder, JobsAsk, NewJobOrder
from hermes.errors import BadRequest, HermesError, NotFound
from hermes.message.ids import make_id
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened

pytestmark = pytest.mark.req("W29")
WHEN = "every weekday at 9 in Berlin"
# Sunday 2026-11-15 22:00 UTC.
NOW = 1_794_780_000.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as made:
        await made.users.add("rest", "ann", name=None, at=NOW)
        await made.users.add("push", "bob", name=None, at=NOW)
        yield made


def desk_of(store: Store) -> CronOperations:
    settings = Settings(time_zone="UTC")
    schedules = make_schedules(store, settings, clock=ManualClock(NOW), make_id=make_id)
    return make_cron_operations(store, settings, schedules)


async def test_a_job_is_its_persons_and_runs_in_their_direct_chat(store: Store) -> None:
    operations = desk_of(store)
    made = await operations.add(NewJobOrder(user="push:bob", when=WHEN, text="news", to="rest:ann"))
    person = await store.people.find("push", "bob")
    assert person is not None

    job = await store.cron.get(made.job.id)
    assert job is not None
    assert job.task is not None
    assert (job.person_id, job.task.origin.lane) == (person.id, "agent:main:push:dm:bob")
    assert (made.job.when, made.job.next) == (
        "Mon-Fri 09:00 Europe/Berlin",
        "Mon 2026-11-16 09:00 Europe/Berlin",
    )
    assert (made.job.target, job.task.is_operators) == ("rest:ann", True)


async def test_a_person_is_named_by_their_id_too_and_another_chat_can_be_chosen(
    store: Store,
) -> None:
    person = await store.people.find("rest", "ann")
    assert person is not None
    made = await desk_of(store).add(
        NewJobOrder(user=person.id, when="in 2 hours", text="tea", chat="kitchen")
    )

    job = await store.cron.get(made.job.id)
    assert job is not None
    assert job.task is not None
    assert job.task.origin.lane == "agent:main:rest:dm:kitchen:ann"
    assert made.job.when == "once, Mon 2026-11-16 00:00 UTC"


async def test_jobs_are_listed_by_person_and_found_by_the_end_of_their_id(
    store: Store,
) -> None:
    operations = desk_of(store)
    ann = await operations.add(NewJobOrder(user="rest:ann", when="every day at 9", text="a"))
    bob = await operations.add(NewJobOrder(user="push:bob", when="every day at 8", text="b"))

    everybody = await operations.list(JobsAsk())
    only_ann = await operations.list(JobsAsk(user="rest:ann"))
    found = await operations.show(JobAsk(id=bob.job.id[-8:]))

    assert [job.id for job in everybody.jobs] == [bob.job.id, ann.job.id]
    assert [job.id for job in only_ann.jobs] == [ann.job.id]
    assert found.job == bob.job


async def test_a_short_id_is_its_beginning_or_end_and_one_of_several_is_named(
    store: Store,
) -> None:
    operations = desk_of(store)
    made = [
        (await operations.add(NewJobOrder(user="rest:ann", when=WHEN, text=text))).job.id
        for text in ("a", "b")
    ]

    assert (await operations.show(JobAsk(id=made[0][:-1]))).job.id == made[0]
    assert (await operations.show(JobAsk(id=made[1][-4:]))).job.id == made[1]
    with pytest.raises(BadRequest, match=f"several ids: {made[1]}, {made[0]}. Write more"):
        await operations.remove(JobOrder(id=made[0][:6]))
    with pytest.raises(NotFound, match="at least four letters"):
        await operations.show(JobAsk(id=made[0][-3:]))
    assert len((await operations.list(JobsAsk())).jobs) == 2


async def test_a_run_by_hand_is_a_message_on_disk(store: Store) -> None:
    operations = desk_of(store)
    made = await operations.add(NewJobOrder(user="rest:ann", when=WHEN, text="news"))

    ran = await operations.run(JobOrder(id=made.job.id))

    assert ran.message_id is not None
    record = await store.inbox.get(ran.message_id)
    assert record is not None
    assert (record.lane, record.state) == ("agent:main:rest:dm:ann", "new")
    assert (ran.job.runs, ran.job.outcome, ran.job.next_at) == (1, "new", made.job.next_at)
    with pytest.raises(NotFound, match="No answer"):
        await operations.show(JobAsk(id=made.job.id, output=True))


@pytest.mark.parametrize(
    ("order", "kind", "told"),
    [
        (NewJobOrder(user="rest:nobody", when=WHEN, text="x"), NotFound, "Nobody is known"),
        (NewJobOrder(user="rest:ann", when="sometimes", text="x"), BadRequest, "sometimes"),
        (NewJobOrder(user="rest:ann", when=WHEN, text=" "), BadRequest, "does nothing"),
        (NewJobOrder(user="rest:ann", when=WHEN, text="/new"), BadRequest, "not a command"),
        (NewJobOrder(user="rest:ann", when=WHEN, text="x" * 8_001), BadRequest, "8001 characters"),
        (NewJobOrder(user="rest:ann", when=WHEN, text="x", to="a b"), BadRequest, "not a delivery"),
        (NewJobOrder(user="rest:ann", when=WHEN, text="x", agent="no"), NotFound, "no agent 'no'"),
        (NewJobOrder(user="rest:ann", when="2020-01-01 at 9", text="x"), BadRequest, "is over"),
    ],
)
async def test_what_cannot_be_scheduled_is_refused_with_the_way_out(
    store: Store, order: NewJobOrder, kind: type[HermesError], told: str
) -> None:
    with pytest.raises(kind) as error:
        await desk_of(store).add(order)

    assert told in str(error.value)
    assert await store.cron.page(limit=10) == ()


async def test_bounds_of_a_list_are_checked(store: Store) -> None:
    with pytest.raises(BadRequest, match="expected 1 to 10,000"):
        await desk_of(store).list(JobsAsk(limit=0))
