"""A12, J24: where facts stand among meanings is sealed, the person's own, and never lost."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from hermes.ports.memory import Fact, FactChange
from hermes.ports.store import Store
from hermes.ports.vectors import PAGE_SIZE, Page, VectorEntry, nearest
from tests.contract.store.people import person
from tests.stores.opening import opened, tables

MODEL = "axes/3"


def fact(person_id: str, name: str, *, value: str = "x", is_structural: bool = False) -> Fact:
    return Fact(
        id=f"f_{person_id}_{name}",
        person_id=person_id,
        key=name,
        value=value,
        source="m_1",
        at=1.0,
        updated_at=1.0,
        is_structural=is_structural,
    )


async def put(store: Store, *facts: Fact) -> None:
    await store.facts.change(facts[0].person_id, lambda _: FactChange(put=facts))


async def place(store: Store, person_id: str, *, model: str = MODEL) -> tuple[Fact, ...]:
    """Give every fact that waits a vector; returns the facts."""
    facts = await store.vectors.waiting(person_id, limit=20_000)
    await store.vectors.keep(person_id, page_of(facts, model), facts=facts)
    return facts


def page_of(facts: Sequence[Fact], model: str = MODEL) -> Page:
    loose = [one for one in facts if not one.is_structural]
    return Page.of(
        [VectorEntry(one.id, (1.0, number, 1.0)) for number, one in enumerate(loose)], model
    )


async def found(store: Store, person_id: str, *, model: str = MODEL) -> set[str]:
    pages = await store.vectors.pages(person_id, model)
    return {name for name, _ in nearest((1.0, 1.0, 1.0), pages, k=20_000, model=model)}


def raw(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with tables(folder) as found:
        return found.rows(sql)


@pytest.mark.req("A12", "J24")
async def test_vectors_are_sealed_the_persons_own_and_there_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await person(store, "ann"), await person(store, "bob")
        await put(store, fact(ann, "dog"), fact(ann, "wine"))
        await put(store, fact(bob, "dog"))
        await place(store, ann)
        await place(store, bob)
    async with opened(tmp_path) as store:
        assert await found(store, ann) == {fact(ann, "dog").id, fact(ann, "wine").id}
        assert await found(store, bob) == {fact(bob, "dog").id}
        assert await store.vectors.pages(ann, "axes/4") == ()
        assert await store.vectors.waiting(ann, limit=9) == ()

    [(sealed,)] = raw(tmp_path, f"SELECT sealed FROM vector_pages WHERE person_id = '{ann}'")
    assert isinstance(sealed, bytes)
    assert b"HV1" not in sealed
    assert ann.encode() not in sealed


@pytest.mark.req("A12", "J22")
async def test_a_fact_waits_for_its_vector_from_the_moment_it_is_known(store: Store) -> None:
    ann = await person(store)
    await put(store, fact(ann, "dog"), fact(ann, "diet", is_structural=True))

    assert await store.vectors.waiting(ann, limit=9) == (fact(ann, "dog"),)
    assert await store.facts.has_loose(ann)
    await place(store, ann)
    assert await store.vectors.waiting(ann, limit=9) == ()


@pytest.mark.req("A12", "J24")
async def test_what_a_fact_said_before_and_what_is_forgotten_leaves_the_pages_at_once(
    store: Store,
) -> None:
    ann = await person(store)
    await put(store, fact(ann, "changed"), fact(ann, "gone"), fact(ann, "kept"))
    await place(store, ann)

    await put(store, fact(ann, "changed", value="new"))
    gone = FactChange(forget=(fact(ann, "gone").id,))
    await store.facts.change(ann, lambda _: gone)

    assert await found(store, ann) == {fact(ann, "kept").id}
    assert await store.vectors.waiting(ann, limit=9) == (fact(ann, "changed", value="new"),)


@pytest.mark.req("A12")
async def test_a_vector_of_what_changed_meanwhile_or_came_twice_is_not_kept(
    store: Store,
) -> None:
    ann = await person(store)
    await put(store, fact(ann, "dog"), fact(ann, "gone"), fact(ann, "kept"))
    facts = await store.vectors.waiting(ann, limit=9)
    await put(store, fact(ann, "dog", value="new"))
    gone = FactChange(forget=(fact(ann, "gone").id,))
    await store.facts.change(ann, lambda _: gone)

    twice = (store.vectors.keep(ann, page_of(facts), facts=facts) for _ in range(2))
    await asyncio.gather(*twice)

    pages = [Page.unpack(page).ids for page in await store.vectors.pages(ann, MODEL)]
    assert pages == [(fact(ann, "kept").id,)]
    assert await store.vectors.waiting(ann, limit=9) == (fact(ann, "dog", value="new"),)


@pytest.mark.req("A12")
async def test_the_pages_of_another_model_are_made_anew(store: Store) -> None:
    ann, bob = await person(store, "ann"), await person(store, "bob")
    await put(store, fact(ann, "dog"), fact(ann, "diet", is_structural=True))
    await put(store, fact(bob, "dog"))
    await place(store, ann)
    await place(store, bob)
    assert not await store.vectors.is_foreign(ann, MODEL)
    assert await store.vectors.is_foreign(ann, "new/3")

    await store.vectors.renew(ann)
    await place(store, ann, model="new/3")

    assert await found(store, ann, model="new/3") == {fact(ann, "dog").id}
    assert await found(store, ann) == set()
    assert await store.vectors.waiting(ann, limit=9) == ()
    assert await found(store, bob) == {fact(bob, "dog").id}


@pytest.mark.req("J22", "J24")
async def test_nothing_is_left_of_who_is_erased(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await person(store, "ann"), await person(store, "bob")
        await put(store, fact(ann, "dog"))
        await put(store, fact(bob, "dog"))
        facts = await place(store, ann)
        await place(store, bob)
        await put(store, fact(ann, "late"))

        await store.people.erase(ann, at=2.0)

        assert await store.vectors.pages(ann, MODEL) == ()
        assert await store.vectors.waiting(ann, limit=9) == ()
        assert not await store.facts.has_loose(ann)
        await store.vectors.keep(ann, page_of(facts), facts=facts)
        assert await found(store, bob) == {fact(bob, "dog").id}
    assert raw(tmp_path, "SELECT person_id FROM vector_pages") == [(bob,)]
    assert raw(tmp_path, "SELECT * FROM vectors_wanted") == []


@pytest.mark.req("A12")
async def test_ten_thousand_facts_come_and_go_without_scattering(store: Store) -> None:
    ann = await person(store)
    facts = tuple(fact(ann, f"n{number:05}") for number in range(10_000))
    await put(store, *facts)
    await place(store, ann)
    assert len(await store.vectors.pages(ann, MODEL)) == -(-10_000 // PAGE_SIZE)

    gone = tuple(one.id for number, one in enumerate(facts) if number % 20)
    await store.facts.change(ann, lambda _: FactChange(forget=gone))
    await put(store, fact(ann, "late"))
    await place(store, ann)

    assert len(await store.vectors.pages(ann, MODEL)) == 2
    assert await found(store, ann) == {*(one.id for one in facts[::20]), fact(ann, "late").id}


@pytest.mark.req("A12", "J21")
async def test_facts_of_a_database_without_pages_wait_for_their_vectors(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store)
        dog = fact(ann, "dog")
        await put(store, dog, fact(ann, "diet", is_structural=True))
    with tables(tmp_path) as changed:
        changed.execute("DELETE FROM vectors_wanted")
        changed.execute("INSERT INTO vectors_wanted SELECT person_id, id FROM facts")

    async with opened(tmp_path) as store:
        assert len(await store.vectors.waiting(ann, limit=9)) == 2
        await place(store, ann)
        assert await found(store, ann) == {dog.id}
        assert await store.vectors.waiting(ann, limit=9) == ()


@pytest.mark.req("J22")
async def test_another_persons_fact_gets_no_vector_here(store: Store) -> None:
    ann, bob = await person(store, "ann"), await person(store, "bob")
    await put(store, fact(ann, "dog"))
    (hers,) = await store.vectors.waiting(ann, limit=9)
    stolen = msgspec.structs.replace(hers, person_id=bob)
    await put(store, stolen)

    await store.vectors.keep(bob, page_of((hers,)), facts=(hers,))
    await store.vectors.keep(bob, page_of((stolen,)), facts=(stolen,))

    assert await store.vectors.waiting(bob, limit=9) == ()
    assert await store.vectors.pages(bob, MODEL) == ()
    assert await store.vectors.waiting(ann, limit=9) == (hers,)
