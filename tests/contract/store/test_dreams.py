"""A14, J22, J24: dreams are sealed and their person's own; whose turn it is, is found in order."""

from pathlib import Path

import pytest

from hermes.ports.dreams import Dream
from hermes.ports.memory import EXTRACT, Fact, FactChange, NewJob
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.contract.store.people import person
from tests.stores.opening import opened, raw_bytes
from tests.torture.store_rig import accept, answer

SECRET = "the word is xylophone"
DREAM = Dream(at=5.0, insights=(SECRET,), gaps=("how far they run",))
DAY = 86_400.0


async def learn(store: Store, person_id: str, *, name: str = "f_1", at: float = 1.0) -> None:
    fact = Fact(
        id=name, person_id=person_id, key=name, value="x", source="m_1", at=at, updated_at=at
    )
    await store.facts.change(person_id, lambda _: FactChange(put=(fact,)))


async def dream_of(
    store: Store, person_id: str, *, at: float = 5.0, seen: tuple[str, ...] = ()
) -> bool:
    job = await store.dreams.begin(person_id, at=at)
    covered = (await store.dreams.lately_said(job, limit=9)).covered
    return await store.dreams.finish(job, DREAM, covered=covered, seen=seen, spent=())


async def found(store: Store, *, now: float) -> list[str]:
    """Return whose turn it is, as rounds of one would find them."""
    people, after = [], ""
    while True:
        person_id, after = await store.dreams.next_person(
            before=now - 7 * DAY, after=after, limit=1
        )
        if person_id is not None:
            people.append(person_id)
        if not after:
            return people


@pytest.mark.req("A14", "J24")
async def test_a_dream_is_kept_sealed_with_the_end_of_its_job_and_over_a_restart(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await person(store, "ann"), await person(store, "bob")
        assert await store.dreams.of(ann) is None
        assert await dream_of(store, ann)
        assert await store.jobs.due(DAY, limit=9) == ()
    async with opened(tmp_path) as store:
        assert await store.dreams.of(ann) == DREAM
        assert await store.dreams.of(bob) is None
        assert await store.dreams.last_begun_at() == 5.0

    assert b"xylophone" not in raw_bytes(tmp_path)


@pytest.mark.req("A14", "J22")
async def test_it_goes_with_its_person_and_with_what_it_was_made_of(store: Store) -> None:
    ann, bob, cy = [await person(store, name) for name in ("ann", "bob", "cy")]
    for one in (ann, bob, cy):
        await learn(store, one, name=f"f_{one}")
        await dream_of(store, one)

    await store.people.erase(ann, at=6.0)
    await store.facts.change(bob, lambda _: FactChange(forget=(f"f_{bob}",)))
    await learn(store, cy, name="f_more", at=6.0)

    assert [await store.dreams.of(one) for one in (ann, bob, cy)] == [None, None, DREAM]
    await store.facts.change(cy, lambda _: FactChange(forget_dream=True))
    assert await store.dreams.of(cy) is None


@pytest.mark.req("A14", "J23")
async def test_a_fact_that_is_forgotten_while_it_is_dreamt_of_comes_to_nothing(
    store: Store,
) -> None:
    ann = await person(store)
    await learn(store, ann)
    job = await store.dreams.begin(ann, at=5.0)
    await store.facts.change(ann, lambda _: FactChange(forget=("f_1",)))

    done = await store.dreams.finish(job, DREAM, covered=0, seen=("f_1",), spent=())

    assert (done, await store.dreams.of(ann)) == (False, None)
    assert [one.key for one in await store.jobs.due(5.0, limit=9)] == [job.key]


@pytest.mark.req("A14", "J22")
async def test_who_is_erased_while_they_are_dreamt_of_is_not_brought_back(
    store: Store,
) -> None:
    ann = await person(store)
    job = await store.dreams.begin(ann, at=5.0)
    await store.people.erase(ann, at=6.0)

    await store.dreams.finish(job, DREAM, covered=0, seen=(), spent=())

    assert await store.dreams.of(ann) is None


@pytest.mark.req("A14")
async def test_only_people_of_whom_there_is_news_are_found_and_a_week_apart(
    store: Store,
) -> None:
    clock = ManualClock(1_000.0)
    silent, known = await person(store, "silent"), await person(store, "known")
    await learn(store, known, name="f_known", at=500.0)
    await answer(store, "hello", user="ann", clock=clock)
    await accept(store, "waiting", user="stranger", clock=clock)
    ann = await store.people.find("rest", "ann")
    assert ann is not None
    blocked = await person(store, "blocked")
    await learn(store, blocked, name="f_blocked")
    await store.users.set_blocked(blocked, blocked=True, at=1.0)

    week = 7 * DAY
    assert await found(store, now=900.0) == []
    assert set(await found(store, now=1_000.0 + week)) == {known, ann.id}
    for one in (known, ann.id):
        await dream_of(store, one, at=2_000.0 + week)
    assert await found(store, now=2_000.0 + 2 * week) == []
    await answer(store, "again", user="ann", clock=clock)
    await learn(store, known, name="f_more", at=3_000.0 + week)
    assert await found(store, now=1_999.0 + 2 * week) == []
    assert set(await found(store, now=2_000.0 + 2 * week)) == {known, ann.id}
    assert silent not in await found(store, now=1e9)


@pytest.mark.req("A14")
async def test_a_dream_reads_what_was_answered_since_the_last_one(store: Store) -> None:
    clock = ManualClock(1_000.0)
    await answer(store, "one", user="ann", clock=clock)
    ann = await store.people.find("rest", "ann")
    assert ann is not None
    await dream_of(store, ann.id)
    await answer(store, "two", user="ann", clock=clock)
    await answer(store, "three", user="ann", clock=clock)
    await accept(store, "open", user="ann", clock=clock)

    job = await store.dreams.begin(ann.id, at=6.0)
    lately = await store.dreams.lately_said(job, limit=9)

    assert [one.text for one in lately.said] == ["text of two", "text of three"]
    assert [one.text for one in (await store.dreams.lately_said(job, limit=1)).said] == [
        "text of three"
    ]


@pytest.mark.req("A14", "J23")
async def test_jobs_of_a_kind_that_is_off_do_not_stand_in_the_way(store: Store) -> None:
    clock = ManualClock(1_000.0)
    job = NewJob(
        kind=EXTRACT,
        key="extract:1",
        lane="ann",
        epoch=0,
        person_id="p_0001",
        due_at=1.0,
        latest_at=1.0,
    )
    await answer(store, "one", user="ann", clock=clock, job=job)
    ann = await store.people.find("rest", "ann")
    assert ann is not None
    await store.dreams.begin(ann.id, at=5.0)

    assert [one.kind for one in await store.jobs.due(9.0, limit=9)] == ["extract", "dream"]
    assert [one.kind for one in await store.jobs.due(9.0, limit=1, kinds=("dream",))] == ["dream"]
    assert await store.jobs.due(9.0, limit=1, kinds=()) == ()
