"""M1, J24: a response is stored for one key, sealed, for a time, and not too many of them."""

import hashlib
from pathlib import Path

import pytest

from hermes.errors import PersonErased, PreviousResponseNotFound
from hermes.ports.keys import CallerKey
from hermes.ports.responses import NewResponse, ResponseOwner, StoredResponse
from hermes.ports.store import Store
from tests.stores.opening import opened, raw_bytes, tables

ITEMS = b'{"the word": "xylophone"}'
ANSWER = b'{"instructions": "glockenspiel"}'
KEEP = 100
PLENTY = 1_000_000


async def owner(store: Store, user: str = "ann", *, key: str = "k_ann") -> ResponseOwner:
    new = CallerKey(id=key, label="", user=user, person_id="", hint="", created_at=1.0)
    digest = hashlib.sha256(key.encode()).digest()
    return ResponseOwner(key, (await store.keys.add(new, digest=digest, user=user)).person_id)


def response(
    name: str,
    whose: ResponseOwner,
    *,
    after: str | None = None,
    at: float = 1.0,
    items: bytes = ITEMS,
) -> NewResponse:
    return NewResponse(
        id=name,
        owner=whose,
        items=items,
        answer=ANSWER,
        at=at,
        expires_at=at + 10,
        previous=after,
    )


async def put(store: Store, *new: NewResponse, keep: int = KEEP, size: int = PLENTY) -> None:
    for one in new:
        await store.responses.put(one, keep=keep, keep_bytes=size)


async def known(store: Store, whose: ResponseOwner, names: str, *, now: float = 2.0) -> str:
    found = [await store.responses.get(name, owner=whose, now=now) for name in names]
    return "".join(one.id for one in found if one is not None)


async def chain(store: Store, whose: ResponseOwner, name: str) -> list[bytes]:
    head = await store.responses.get(name, owner=whose, now=2.0)
    assert head is not None
    return [*await store.responses.chain(head, owner=whose)]


def counts(folder: Path) -> tuple[int, int, int]:
    """Return how many responses, conversations and bodies there are."""
    with tables(folder) as found:
        return (
            int(found.one("SELECT count(*) FROM stored_responses")),
            int(found.one("SELECT count(*) FROM response_chains")),
            int(found.one("SELECT count(*) FROM blobs")),
        )


@pytest.mark.req("M1")
async def test_a_response_is_found_as_it_was_also_after_reopening(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await owner(store)
        await put(store, response("a", ann), response("b", ann, after="a", items=b"[]"))

    async with opened(tmp_path) as store:
        found = await store.responses.get("b", owner=ann, now=2.0)
        assert found == StoredResponse(
            id="b",
            items=b"[]",
            answer=ANSWER,
            depth=2,
            context_size=len(ITEMS) + 2,
            at=1.0,
            previous="a",
        )
        assert await chain(store, ann, "b") == [ITEMS, b"[]"]


@pytest.mark.req("J24")
async def test_no_stored_response_is_readable_in_the_files(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await put(store, response("resp_1", await owner(store)))

    files = raw_bytes(tmp_path)
    assert b"resp_1" in files
    assert b"xylophone" not in files
    assert b"glockenspiel" not in files


@pytest.mark.req("M1")
async def test_another_key_finds_continues_and_deletes_nothing(store: Store) -> None:
    ann, other = await owner(store), await owner(store, key="k_other")
    bob = await owner(store, "bob", key="k_bob")
    handed_on = ResponseOwner(ann.key_id, bob.person_id)
    await put(store, response("a", ann))

    for stranger in (other, bob, handed_on):
        assert await known(store, stranger, "a") == ""
        assert not await store.responses.delete("a", owner=stranger, now=2.0)
        with pytest.raises(PreviousResponseNotFound):
            await put(store, response("b", stranger, after="a"))
        assert await known(store, stranger, "b") == ""
    assert await known(store, ann, "ab") == "a"


@pytest.mark.req("M1")
async def test_a_branch_has_only_what_it_continues(store: Store) -> None:
    ann = await owner(store)
    await put(
        store,
        response("a", ann, items=b"1"),
        response("b", ann, after="a", items=b"2"),
        response("c", ann, after="a", items=b"3"),
        response("d", ann, after="c", items=b"4"),
    )

    assert await chain(store, ann, "d") == [b"1", b"3", b"4"]
    assert await chain(store, ann, "b") == [b"1", b"2"]


@pytest.mark.req("M1")
async def test_a_deleted_response_is_gone_with_its_bodies_and_not_continued(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await owner(store)
        await put(store, response("a", ann), response("b", ann, after="a"))

        deleted = [await store.responses.delete("a", owner=ann, now=2.0) for _ in range(2)]

        assert deleted == [True, False]
        assert await known(store, ann, "ab") == "b"
        assert await chain(store, ann, "b") == [ITEMS]
        assert counts(tmp_path) == (1, 1, 2)
        with pytest.raises(PreviousResponseNotFound):
            await put(store, response("c", ann, after="a"))
        await store.responses.delete("b", owner=ann, now=2.0)
        assert counts(tmp_path) == (0, 0, 0)


@pytest.mark.req("M1")
async def test_a_conversation_expires_as_a_whole_after_it_was_last_continued(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        ann = await owner(store)
        await put(
            store,
            response("a", ann, at=1.0),
            response("x", ann, at=2.0),
            response("b", ann, after="a", at=5.0),
        )

        assert await known(store, ann, "axb", now=11.9) == "axb"
        assert await known(store, ann, "axb", now=12.0) == "ab"
        assert not await store.responses.delete("x", owner=ann, now=12.0)
        assert [await store.responses.forget(before=13.0) for _ in range(2)] == [1, 0]
        assert counts(tmp_path) == (2, 1, 4)
        assert await store.responses.forget(before=16.0) == 2
        assert counts(tmp_path) == (0, 0, 0)


@pytest.mark.req("M1")
async def test_a_long_conversation_is_forgotten_in_parts(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await owner(store)
        await put(store, response("0", ann))
        for number in range(1, 1_203):
            await put(store, response(str(number), ann, after="0"), keep=2_000)

        assert await store.responses.forget(before=99.0) == 1_203
        assert counts(tmp_path) == (0, 0, 0)


@pytest.mark.req("M1")
async def test_beyond_the_count_the_least_recently_continued_conversation_goes_whole(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await owner(store), await owner(store, "bob", key="k_bob")
        await put(
            store,
            response("z", bob, at=0.0),
            response("a", ann, at=1.0),
            response("x", ann, at=2.0),
            response("y", ann, after="x", at=3.0),
            response("b", ann, after="a", at=4.0),
        )

        await put(store, response("c", ann, at=1.5), keep=4)

        assert await known(store, ann, "axybc") == "abc"
        assert await known(store, bob, "z") == "z"
        assert counts(tmp_path) == (4, 3, 8)


@pytest.mark.req("M1")
async def test_as_many_conversations_go_as_a_lower_count_asks_for(store: Store) -> None:
    ann = await owner(store)
    await put(store, *(response(name, ann, at=float(at)) for at, name in enumerate("abcde")))

    await put(store, response("f", ann, at=5.0), keep=2)

    assert await known(store, ann, "abcdef") == "ef"


@pytest.mark.req("M1")
async def test_beyond_the_bytes_the_oldest_of_a_conversation_goes_and_never_the_newest(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        ann = await owner(store)
        await put(store, response("a", ann), response("b", ann, after="a"))

        await put(store, response("c", ann, after="b"), size=2 * (len(ITEMS) + len(ANSWER)))
        assert await known(store, ann, "abc") == "bc"
        assert await chain(store, ann, "c") == [ITEMS, ITEMS]

        await put(store, response("d", ann, after="c"), size=1)
        assert await known(store, ann, "abcd") == "d"
        assert counts(tmp_path) == (1, 1, 2)


@pytest.mark.req("J24", "M1")
async def test_an_erased_persons_responses_are_gone_and_nothing_new_is_stored(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        ann, bob = await owner(store), await owner(store, "bob", key="k_bob")
        await put(store, response("a", ann), response("b", ann, after="a"), response("c", bob))

        await store.people.erase(ann.person_id, at=3.0)

        assert await known(store, ann, "ab") == ""
        assert await known(store, bob, "c") == "c"
        assert counts(tmp_path) == (1, 1, 2)
        with pytest.raises(PersonErased):
            await put(store, response("d", ann))
        assert counts(tmp_path) == (1, 1, 2)


@pytest.mark.req("M1", "A8")
async def test_the_end_of_a_response_is_known_without_its_owner(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        ann = await owner(store)
        await put(store, response("a", ann), response("b", ann, after="a", at=2.0))

        stored_until = store.responses.stored_until
        assert [await stored_until(name, now=3.0) for name in "abc"] == [12.0, 12.0, None]
        assert await stored_until("a", now=12.0) is None
