"""J22, A24: an answer is remembered for one person only, for a time, and not too many of them."""

import asyncio
import hashlib
from pathlib import Path

import msgspec
import pytest

from hermes.message.reply import Usage
from hermes.ports.keys import CallerKey, KeptAnswer
from hermes.ports.store import Store
from tests.stores.opening import opened, raw_bytes, tables

SECRET = b'"the word is xylophone"'
KEEP = 100
TENANTS = 10_000


def digest(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def answer(
    person_id: str, name: str = "one", *, at: float = 1.0, expires_at: float = 9.0
) -> KeptAnswer:
    return KeptAnswer(
        digest=digest(name),
        person_id=person_id,
        agent="main",
        model="claude-haiku",
        call_id="c_1",
        body=SECRET,
        usage=Usage(10, 5, 4, 3, 0.5, 2),
        stop_reason="end",
        at=at,
        expires_at=expires_at,
    )


async def person(store: Store, user: str = "ann") -> str:
    """Return the id of a new person, who needs a data key to be remembered anything."""
    key = CallerKey(id=f"k_{user}", label="", user=user, person_id="", hint="", created_at=1.0)
    return (await store.keys.add(key, digest=digest(user), user=user)).person_id


def count(folder: Path, table: str) -> int:
    with tables(folder) as found:
        return int(found.one(f"SELECT count(*) FROM {table}"))


async def known(store: Store, person_id: str, names: list[str]) -> list[str]:
    return [
        name
        for name in names
        if await store.answers.get(digest(name), person_id=person_id, now=2.0) is not None
    ]


@pytest.mark.req("A24", "J22")
async def test_an_answer_is_given_again_as_it_was_also_after_reopening(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store)
        await store.answers.put(answer(ann), keep=KEEP, each=KEEP)

    async with opened(tmp_path) as store:
        assert await store.answers.get(digest("one"), person_id=ann, now=2.0) == answer(ann)
        assert await store.answers.get(digest("two"), person_id=ann, now=2.0) is None


@pytest.mark.req("J24")
async def test_no_remembered_answer_is_readable_in_the_files(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.answers.put(answer(await person(store)), keep=KEEP, each=KEEP)

    files = raw_bytes(tmp_path)
    assert digest("one") in files
    assert b"xylophone" not in files


@pytest.mark.req("J22")
async def test_the_same_digest_is_never_found_by_another_person(store: Store) -> None:
    ann, bob = await person(store, "ann"), await person(store, "bob")
    await store.answers.put(answer(ann), keep=KEEP, each=KEEP)
    before = await store.answers.get(digest("one"), person_id=bob, now=2.0)
    his_own = msgspec.structs.replace(answer(bob), body=b'"bob"')

    await store.answers.put(his_own, keep=KEEP, each=KEEP)

    assert before is None
    assert await store.answers.get(digest("one"), person_id=ann, now=2.0) == answer(ann)
    assert await store.answers.get(digest("one"), person_id=bob, now=2.0) == his_own


@pytest.mark.req("J22", "A24")
async def test_ten_thousand_tenants_find_only_their_own(store: Store) -> None:
    people = [await person(store, user) for user in ("ann", "bob", "cy", "dee")]
    owners = {f"canary {number}": people[number % 4] for number in range(TENANTS)}
    await asyncio.gather(
        *(
            store.answers.put(
                msgspec.structs.replace(answer(owner, name), body=name.encode()),
                keep=TENANTS,
                each=TENANTS,
            )
            for name, owner in owners.items()
        )
    )

    found = {
        (name, asking): kept.body
        for name in owners
        for asking in people
        if (kept := await store.answers.get(digest(name), person_id=asking, now=2.0)) is not None
    }

    assert found == {(name, owner): name.encode() for name, owner in owners.items()}


@pytest.mark.req("A24")
async def test_an_answer_is_replaced_with_its_body(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store)
        newer = msgspec.structs.replace(answer(ann, at=3.0), body=b'"newer"', call_id="c_2")
        await store.answers.put(answer(ann), keep=KEEP, each=KEEP)
        await store.answers.put(newer, keep=KEEP, each=KEEP)

        assert await store.answers.get(digest("one"), person_id=ann, now=2.0) == newer
        assert (count(tmp_path, "kept_answers"), count(tmp_path, "blobs")) == (1, 1)


@pytest.mark.req("A24")
async def test_the_oldest_are_forgotten_beyond_what_is_kept(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(6)]
    ages = dict(zip(names, (4.0, 1.0, 6.0, 2.0, 5.0, 3.0), strict=True))
    async with opened(tmp_path) as store:
        ann = await person(store)
        for name in names:
            await store.answers.put(answer(ann, name, at=ages[name]), keep=6, each=6)

        await store.answers.put(answer(ann, "n2", at=7.0), keep=3, each=3)

        assert await known(store, ann, names) == ["n0", "n2", "n4"]
        assert (count(tmp_path, "kept_answers"), count(tmp_path, "blobs")) == (3, 3)


@pytest.mark.req("A24")
async def test_a_person_over_their_share_loses_their_own_oldest(tmp_path: Path) -> None:
    mallorys = [f"m{number}" for number in range(9)]
    async with opened(tmp_path) as store:
        ann, mallory = await person(store), await person(store, "mallory")
        await store.answers.put(answer(ann, at=0.5), keep=8, each=3)
        for at, name in enumerate(mallorys):
            await store.answers.put(answer(mallory, name, at=1.0 + at), keep=8, each=3)
        alone = await known(store, mallory, mallorys)
        await store.answers.put(answer(ann, "two", at=0.6), keep=8, each=3)

        assert alone == mallorys[2:]
        assert await known(store, mallory, mallorys) == mallorys[3:]
        assert await known(store, ann, ["one", "two"]) == ["one", "two"]
        assert count(tmp_path, "kept_answers") == 8


@pytest.mark.req("A24")
async def test_where_nobody_is_over_their_share_the_oldest_of_all_goes(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await person(store), await person(store, "bob")
        await store.answers.put(answer(ann, "old", at=1.0), keep=2, each=2)
        await store.answers.put(answer(bob, "one", at=2.0), keep=2, each=2)
        await store.answers.put(answer(bob, "two", at=3.0), keep=2, each=2)

        assert await known(store, ann, ["old"]) == []
        assert await known(store, bob, ["one", "two"]) == ["one", "two"]


@pytest.mark.req("A24")
async def test_expired_answers_are_not_found_and_then_dropped(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await person(store)
        for number in range(1_203):
            expires = 5.0 if number % 3 else 50.0
            await store.answers.put(
                answer(ann, f"n{number}", expires_at=expires), keep=2_000, each=2_000
            )
        found = [
            await store.answers.get(digest("n1"), person_id=ann, now=now) is not None
            for now in (4.9, 5.0, 5.1)
        ]

        dropped = [await store.answers.forget(before=6.0) for _ in range(2)]

        assert found == [True, False, False]
        assert dropped == [802, 0]
        assert (count(tmp_path, "kept_answers"), count(tmp_path, "blobs")) == (401, 401)


@pytest.mark.req("J24", "J22")
async def test_an_erased_persons_answers_are_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await person(store, "ann"), await person(store, "bob")
        for name in ("one", "two"):
            await store.answers.put(answer(ann, name), keep=KEEP, each=KEEP)
        await store.answers.put(answer(bob), keep=KEEP, each=KEEP)

        await store.people.erase(ann, at=3.0)

        assert await known(store, ann, ["one", "two"]) == []
        assert await known(store, bob, ["one", "two"]) == ["one"]
        assert (count(tmp_path, "kept_answers"), count(tmp_path, "blobs")) == (1, 1)


@pytest.mark.req("J24", "J22")
async def test_an_answer_that_comes_after_the_erasure_is_no_error_and_not_found(
    store: Store,
) -> None:
    ann = await person(store)
    beside = store.answers.put(answer(ann, "beside"), keep=KEEP, each=KEEP)

    await asyncio.gather(store.people.erase(ann, at=3.0), beside)
    await store.answers.put(answer(ann, "later"), keep=KEEP, each=KEEP)

    assert await known(store, ann, ["beside", "later"]) == []
    assert await store.answers.forget(before=99.0) <= 1


@pytest.mark.req("J24")
async def test_the_platform_itself_is_remembered_nothing(store: Store) -> None:
    await store.answers.put(answer("platform"), keep=KEEP, each=KEEP)

    assert await known(store, "platform", ["one"]) == []
