"""Ids by a part of them on the real store, and what operations make of a short id."""

from typing import get_args

import pytest

from hermes.control.consent import find_person
from hermes.errors import BadRequest, NotFound
from hermes.message.short_ids import find_short, is_short_for, only_one
from hermes.ports.ids import IdKind, whole_id
from hermes.ports.keys import CallerKey
from hermes.ports.store import Store


async def keys(store: Store, *names: str) -> None:
    for name in names:
        key = CallerKey(id=name, label="", user="", person_id="", hint="", created_at=1.0)
        await store.keys.add(key, digest=name.encode().ljust(32, b"."), user="ann")


@pytest.mark.req("W7")
async def test_an_id_is_found_by_its_beginning_and_by_its_end(store: Store) -> None:
    await keys(store, "k_0001aaaa", "k_0002bbbb", "k_0003aaaa")

    found = {
        part: await store.ids.matching("key", part, limit=9)
        for part in ("", "k_0002", "aaaa", "bbbb", "zzzz", "_%", "k_0001aaaa1")
    }

    assert found == {
        "": ("k_0003aaaa", "k_0002bbbb", "k_0001aaaa"),
        "k_0002": ("k_0002bbbb",),
        "aaaa": ("k_0003aaaa", "k_0001aaaa"),
        "bbbb": ("k_0002bbbb",),
        "zzzz": (),
        "_%": (),
        "k_0001aaaa1": (),
    }
    assert await store.ids.matching("key", "aaaa", limit=1) == ("k_0003aaaa",)


@pytest.mark.req("W7")
@pytest.mark.parametrize("kind", get_args(IdKind))
async def test_every_kind_can_be_asked_for(store: Store, kind: IdKind) -> None:
    assert await store.ids.matching(kind, "nothing-like-this", limit=9) == ()


@pytest.mark.req("W7")
async def test_people_and_their_channels_are_found(store: Store) -> None:
    ann = await store.users.add("telegram", "4711", name=None, at=1.0)
    bob = await store.users.add("rest", "bob", name=None, at=2.0)

    assert set(await store.ids.matching("person", "p_", limit=9)) == {ann, bob}
    assert await store.ids.matching("person", ann[-6:], limit=9) == (ann,)
    assert await store.ids.matching("channel", "tele", limit=9) == ("telegram:4711",)


@pytest.mark.req("W7")
async def test_a_person_is_named_by_the_end_of_their_id(store: Store) -> None:
    ann = await store.users.add("telegram", "4711", name=None, at=1.0)

    assert (await find_person(store.people, ann[-6:])).id == ann
    for other in ("a", ann[-3:], "nobody-ends-so"):
        with pytest.raises(NotFound):
            await find_person(store.people, other)


@pytest.mark.req("W7")
async def test_a_part_of_several_ids_names_them_and_means_none(store: Store) -> None:
    await keys(store, "k_0001aaaa", "k_0003aaaa")

    with pytest.raises(BadRequest, match="short for several ids: k_0003aaaa, k_0001aaaa"):
        await whole_id(store.ids, "aaaa", "key")
    assert await whole_id(store.ids, "1aaaa", "key") == "k_0001aaaa"
    assert await whole_id(store.ids, "aaa", "key") is None
    with pytest.raises(BadRequest, match=r"^'aaaa' is short for several ids\. Write more"):
        await whole_id(store.ids, "aaaa", "key", is_listed=False)


@pytest.mark.req("W7")
def test_a_short_end_is_no_name() -> None:
    assert is_short_for("4g2k", "j_06gu4g2k")
    assert is_short_for("j_06", "j_06gu4g2k")
    assert not is_short_for("g2k", "j_06gu4g2k")
    assert not is_short_for("j_0", "j_06gu4g2k")
    assert not is_short_for("", "j_06gu4g2k")
    assert is_short_for("j_1", "j_1")
    assert only_one("x", ()) is None


@pytest.mark.req("W7")
def test_a_whole_id_is_meant_before_those_that_it_begins() -> None:
    known = {"j_1234": "one", "j_12345": "two"}

    assert find_short("j_1234", known) == "one"
    assert find_short("2345", known) == "two"
    assert find_short("j_9", known) is None
    with pytest.raises(BadRequest, match="several ids: ONE, TWO"):
        find_short("j_123", known, label=str.upper)
