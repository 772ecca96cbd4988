"""Secrets in the store: sealed with a key for each agent, bound to their names, never shown."""

from pathlib import Path

import pytest

from hermes.app.key_rotation import KeyRotation
from hermes.config.home import replace_secret_file
from hermes.errors import BadRequest, StoreError
from hermes.ports.secrets import EVERY_AGENT, StoredSecret
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.engine import Options
from tests.stores.opening import KEYS, new_keys, open_store, opened, raw_bytes, tables

VALUE = "xylophone-marimba-4711"


async def put(
    store: Store, name: str, value: str, *, agent: str = EVERY_AGENT, most: int = 100
) -> StoredSecret:
    return await store.secrets.put(name, value, agent=agent, at=7.0, by="olga", most=most)


@pytest.mark.req("M9")
async def test_a_value_is_read_under_its_agent_and_name_and_listed_without_it(store: Store) -> None:
    kept = await put(store, "TOKEN", VALUE)
    await put(store, "TOKEN", "coach-value", agent="coach")
    await put(store, "ALSO", "", agent="coach")

    assert dict(await store.secrets.values()) == {
        ("", "TOKEN"): VALUE,
        ("coach", "TOKEN"): "coach-value",
        ("coach", "ALSO"): "",
    }
    assert await store.secrets.list("") == (kept,)
    assert (kept.name, kept.agent, kept.set_at, kept.set_by) == ("TOKEN", "", 7.0, "olga")
    assert [(one.name, bool(one.hash)) for one in await store.secrets.list("coach")] == [
        ("ALSO", False),
        ("TOKEN", True),
    ]


@pytest.mark.req("M9")
async def test_the_hash_changes_with_the_value_and_compares_with_no_other_secret(
    store: Store,
) -> None:
    first = await put(store, "TOKEN", VALUE)
    other = await put(store, "TOKEN", "another value")
    again = await put(store, "TOKEN", VALUE)
    elsewhere = await put(store, "OTHER", VALUE)
    agents = await put(store, "TOKEN", VALUE, agent="coach")

    assert len(first.hash) == 8
    assert int(first.hash, 16) >= 0
    assert first.hash == again.hash
    assert len({first.hash, other.hash, elsewhere.hash, agents.hash}) == 4


@pytest.mark.req("M9", "J24")
async def test_no_value_is_readable_in_the_files(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await put(store, "TOKEN", VALUE)
        await put(store, "TOKEN", f"{VALUE}-2", agent="coach")

    assert b"TOKEN" in raw_bytes(tmp_path)
    assert b"xylophone" not in raw_bytes(tmp_path)


@pytest.mark.req("M9", "J24")
@pytest.mark.parametrize("place", ["name = 'OTHER'", "agent = 'coach'"])
async def test_a_value_that_was_moved_on_disk_does_not_open(tmp_path: Path, place: str) -> None:
    async with opened(tmp_path) as store:
        await put(store, "TOKEN", VALUE)
        await put(store, "OTHER", "another value")
        await put(store, "TOKEN", "coach-value", agent="coach")
    with tables(tmp_path) as found:
        taken = "SELECT sealed FROM secrets WHERE agent = '' AND name = 'TOKEN'"
        found.execute(f"UPDATE secrets SET sealed = ({taken}) WHERE {place}")

    async with opened(tmp_path) as store:
        with pytest.raises(StoreError, match="changed or moved"):
            await store.secrets.values()


@pytest.mark.req("M9")
async def test_a_deleted_secret_is_gone_and_cannot_be_deleted_again(store: Store) -> None:
    await put(store, "TOKEN", VALUE)
    await put(store, "TOKEN", "coach-value", agent="coach")

    assert await store.secrets.drop("TOKEN", agent="coach")
    assert not await store.secrets.drop("TOKEN", agent="coach")
    assert dict(await store.secrets.values()) == {("", "TOKEN"): VALUE}


@pytest.mark.req("M9", "A15")
async def test_erasing_an_agent_destroys_the_key_of_its_secrets_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await put(store, "TOKEN", VALUE)
        await put(store, "TOKEN", "coach-value", agent="coach")
        await put(store, "OTHER", "coach-other", agent="coach")

        assert await store.secrets.erase("coach") == 2

        assert dict(await store.secrets.values()) == {("", "TOKEN"): VALUE}
        # An agent of the same name begins with another key.
        await put(store, "TOKEN", "new-value", agent="coach")
        assert (await store.secrets.values())[("coach", "TOKEN")] == "new-value"
    async with opened(tmp_path) as store:
        assert (await store.secrets.values())[("coach", "TOKEN")] == "new-value"
        await store.secrets.erase("coach")
    with tables(tmp_path) as found:
        keys = found.rows("SELECT person_id FROM person_keys WHERE person_id LIKE 'secrets%'")
    assert keys == [("secrets",)]


@pytest.mark.req("M9")
async def test_more_secrets_than_allowed_are_refused_and_the_others_can_be_changed(
    store: Store,
) -> None:
    await put(store, "A", "value-of-a", most=2)
    await put(store, "B", "value-of-b", agent="coach", most=2)

    with pytest.raises(BadRequest, match="2 secrets already"):
        await put(store, "C", "value-of-c", most=2)
    await put(store, "A", "value-of-a-2", most=2)

    assert sorted(await store.secrets.values()) == [("", "A"), ("coach", "B")]


@pytest.mark.req("M9", "J24")
async def test_secrets_open_after_the_key_of_the_store_was_rotated(tmp_path: Path) -> None:
    path = tmp_path / "store.keys"
    replace_secret_file(path, new_keys())
    store = await open_store(tmp_path, key_file=path.read_bytes())
    await put(store, "TOKEN", VALUE)
    await put(store, "TOKEN", "coach-value", agent="coach")
    hashed = (await store.secrets.list(""))[0].hash

    await KeyRotation(path, store, search=None).rotate("olga")
    await store.close()

    async with opened(tmp_path, key_file=path.read_bytes()) as again:
        assert dict(await again.secrets.values()) == {
            ("", "TOKEN"): VALUE,
            ("coach", "TOKEN"): "coach-value",
        }
        assert (await again.secrets.list(""))[0].hash == hashed


@pytest.mark.req("M9")
async def test_another_process_hears_of_every_change(tmp_path: Path) -> None:
    clock, shared = ManualClock(), Options(alone=False)
    here = await open_store(tmp_path, clock=clock, options=shared, key_file=KEYS)
    there = await open_store(tmp_path, clock=clock, options=shared, key_file=KEYS)
    heard: list[str] = []
    there.feed.on("secrets", heard.append)
    try:
        await put(here, "TOKEN", VALUE)
        await put(here, "TOKEN", "coach-value", agent="coach")
        await there.feed.catch_up()
        before = dict(await there.secrets.values())
        await here.secrets.erase("coach")
        await put(here, "TOKEN", "again", agent="coach")
        await here.secrets.drop("TOKEN", agent="")
        await there.feed.catch_up()
        after = dict(await there.secrets.values())
    finally:
        await here.close()
        await there.close()

    assert before == {("", "TOKEN"): VALUE, ("coach", "TOKEN"): "coach-value"}
    assert after == {("coach", "TOKEN"): "again"}
    assert heard == ["", "coach", "coach", "coach", ""]
