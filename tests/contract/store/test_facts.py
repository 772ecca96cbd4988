"""A10, J22, J24: what is known of a person is sealed, the person's own, and gone with them."""

import asyncio
from pathlib import Path

import pytest

from hermes.ports.memory import Fact, FactChange
from hermes.ports.store import Store
from tests.contract.store.people import person
from tests.stores.opening import opened, raw_bytes

SECRET = "the word is xylophone"


def fact(person_id: str, name: str = "one", *, value: str = SECRET, at: float = 1.0) -> Fact:
    return Fact(
        id=f"f_{person_id}_{name}",
        person_id=person_id,
        key=name,
        value=value,
        source="m_1",
        at=at,
        updated_at=at,
    )


async def put(store: Store, *facts: Fact) -> None:
    await store.facts.change(facts[0].person_id, lambda _: FactChange(put=facts))


@pytest.mark.req("A10", "J24")
async def test_facts_are_kept_sealed_in_order_and_over_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await person(store, "ann"), await person(store, "bob")
        later, sooner = fact(ann, "later", at=2.0), fact(ann, "sooner", at=1.0)
        await put(store, later, sooner)
    async with opened(tmp_path) as store:
        assert await store.facts.of(ann) == (sooner, later)
        assert await store.facts.some(ann, [later.id, "f_nobody", sooner.id]) == (later, sooner)
        assert await store.facts.some(bob, [later.id]) == ()
        assert await store.facts.of(bob) == ()

    raw = raw_bytes(tmp_path)
    assert b"xylophone" not in raw
    assert b"sooner" not in raw.replace(sooner.id.encode(), b"")


@pytest.mark.req("A10", "J22")
async def test_a_fact_of_another_person_can_neither_be_replaced_nor_forgotten(
    store: Store,
) -> None:
    ann, bob = await person(store, "ann"), await person(store, "bob")
    hers = fact(ann)
    await put(store, hers)
    stolen = Fact(id=hers.id, person_id=bob, key="x", value="y", source="", at=1.0, updated_at=1.0)

    await store.facts.change(bob, lambda _: FactChange(put=(stolen,), forget=(hers.id,)))

    assert await store.facts.of(ann) == (hers,)
    assert await store.facts.of(bob) == ()


@pytest.mark.req("A10")
async def test_a_change_sees_what_the_one_before_it_wrote_in_the_same_commit(
    store: Store,
) -> None:
    ann = await person(store)

    def add(current: tuple[Fact, ...]) -> FactChange:
        return FactChange(put=(fact(ann, f"n{len(current)}", at=float(len(current))),))

    await asyncio.gather(*(store.facts.change(ann, add) for _ in range(20)))

    assert [one.key for one in await store.facts.of(ann)] == [f"n{number}" for number in range(20)]


@pytest.mark.req("J22", "J24")
async def test_who_is_erased_is_forgotten_and_nothing_new_can_be_known(store: Store) -> None:
    ann = await person(store)
    await put(store, fact(ann))
    assert await store.facts.of(ann) != ()

    await store.people.erase(ann, at=2.0)

    assert await store.facts.of(ann) == ()
    with pytest.raises(Exception, match="was erased"):
        await put(store, fact(ann, "new"))
