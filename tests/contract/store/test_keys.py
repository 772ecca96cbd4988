"""Keys of callers: found by their hash without reading, of a person, ended once, gone with them."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from hermes.errors import StoreRejected
from hermes.ports.keys import CallerKey
from hermes.ports.store import Store
from tests.stores.opening import opened

DIGEST = b"d" * 32


def key(name: str = "k_1", *, at: float = 1.0) -> CallerKey:
    return CallerKey(
        id=name,
        label="the build",
        user="",
        person_id="",
        hint="x7Qz",
        created_at=at,
        models=("anthropic:*", "agent:cook"),
        budget_usd=2.5,
        budget_period="month",
        budget_tokens=1_000,
        requests_per_minute=60,
        max_output_tokens=512,
        store_responses=True,
        may_delegate=True,
        read_history=True,
        expires_at=9.0,
    )


@pytest.mark.req("A22", "J21")
async def test_a_key_is_found_as_it_was_made_also_after_reopening(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        made = await store.keys.add(key(), digest=DIGEST, user="ann")
        person = await store.people.find("v1", "ann")

    async with opened(tmp_path) as store:
        found = await store.keys.find(DIGEST)

    assert person is not None
    assert made == msgspec.structs.replace(key(), user="ann", person_id=person.id)
    assert found == made


@pytest.mark.req("A22")
async def test_a_key_without_limits_has_none(store: Store) -> None:
    plain = CallerKey(id="k_2", label="", user="ann", person_id="", hint="", created_at=1.0)

    made = await store.keys.add(plain, digest=DIGEST, user="ann")

    assert await store.keys.find(DIGEST) == made
    assert msgspec.structs.replace(made, person_id="") == plain


@pytest.mark.req("A22")
async def test_two_keys_of_a_user_belong_to_one_person(store: Store) -> None:
    made = [
        await store.keys.add(key(f"k_{number}"), digest=bytes([number]) * 32, user=user)
        for number, user in enumerate(("ann", "ann", "bob"))
    ]

    assert made[0].person_id == made[1].person_id != made[2].person_id


@pytest.mark.req("A22")
async def test_a_found_key_is_known_without_reading(store: Store) -> None:
    await store.keys.add(key(), digest=DIGEST, user="ann")

    assert await store.keys.find(DIGEST) is await store.keys.find(DIGEST)
    assert await store.keys.find(b"?" * 32) is None


@pytest.mark.req("A22")
async def test_a_key_that_was_found_is_revoked_for_the_next_request(store: Store) -> None:
    made = await store.keys.add(key(), digest=DIGEST, user="ann")
    await store.keys.find(DIGEST)

    revoked = [await store.keys.revoke(name, at=4.0) for name in ("k_1", "k_1", "k_unknown")]

    assert revoked == [True, False, False]
    assert await store.keys.find(DIGEST) == msgspec.structs.replace(made, revoked_at=4.0)


@pytest.mark.req("A22")
async def test_keys_are_listed_the_newest_first(store: Store) -> None:
    for number, at in enumerate((2.0, 3.0, 1.0)):
        await store.keys.add(key(f"k_{number}", at=at), digest=bytes([number]) * 32, user="ann")

    assert [one.id for one in await store.keys.list()] == ["k_1", "k_0", "k_2"]


@pytest.mark.req("J19", "J24")
async def test_a_hash_that_is_taken_fails_alone_and_makes_nobody(store: Store) -> None:
    results = await asyncio.gather(
        store.keys.add(key("k_1"), digest=DIGEST, user="ann"),
        store.keys.add(key("k_2"), digest=DIGEST, user="mallory"),
        store.keys.add(key("k_3"), digest=b"e" * 32, user="bob"),
        return_exceptions=True,
    )

    assert isinstance(results[1], StoreRejected)
    assert sorted(one.id for one in await store.keys.list()) == ["k_1", "k_3"]
    assert await store.people.find("v1", "mallory") is None


@pytest.mark.req("J24")
async def test_an_erased_persons_keys_open_nothing(store: Store) -> None:
    ann = await store.keys.add(key(), digest=DIGEST, user="ann")
    bob = await store.keys.add(key("k_2"), digest=b"e" * 32, user="bob")
    await store.keys.find(DIGEST)

    await store.people.erase(ann.person_id, at=5.0)

    assert (await store.keys.find(DIGEST), await store.keys.list()) == (None, (bob,))
    again = await store.keys.add(key("k_3"), digest=DIGEST, user="ann")
    assert again.person_id != ann.person_id
