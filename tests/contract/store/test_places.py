"""J24: a sealed value opens at its place alone; whoever writes to the file cannot exchange rows."""

import re
import tarfile
from pathlib import Path

import msgspec
import pytest

from hermes.errors import StoreError
from hermes.ports.memory import Fact
from hermes.ports.store import Store
from hermes.store.sql.queries import load
from tests.contract.journal.rig import open_rig
from tests.contract.store.people import person
from tests.contract.store.test_facts import fact, put
from tests.homes.make import FOLDER
from tests.stores.old_seals import KEY_BYTES, OldSeals
from tests.stores.opening import KEYS, deliveries_of, new_keys, opened, tables

pytestmark = pytest.mark.sqlite_only

# Sealed columns that no rotation binds: the digest of its row covers it.
COVERED = {("calls", "tokens")}
# Those that no older database has unbound.
NEWER = {("secrets", "sealed"), ("replays", "sealed")}
OTHER_SEALED = {("outbox", "story"), ("user_channels", "name"), *COVERED}


def swap(folder: Path, table: str, column: str, *, key: str, rows: tuple[object, object]) -> None:
    """Exchange a column of two rows, as somebody with the file and without a key can."""
    with tables(folder, read_only=False) as db:
        values = [db.one(f"SELECT {column} FROM {table} WHERE {key} = ?1", (row,)) for row in rows]
        for row, value in zip(rows, reversed(values), strict=True):
            db.execute(f"UPDATE {table} SET {column} = ?2 WHERE {key} = ?1", (row, value))


async def two_facts(store: Store) -> tuple[Fact, Fact]:
    ann = await person(store, "ann")
    facts = fact(ann, "one", value="first"), fact(ann, "two", value="second")
    await put(store, *facts)
    return facts


@pytest.mark.req("J24")
@pytest.mark.parametrize(
    ("table", "column"),
    # The value itself, and the references to it.
    [("blobs", "sealed"), ("inbox", "body"), ("inbox", "result_body")],
)
async def test_what_two_messages_said_cannot_be_exchanged(
    tmp_path: Path, table: str, column: str
) -> None:
    async with open_rig(tmp_path) as rig:
        ids = [await rig.say(text) for text in ("pay 10 to bob", "pay 99 to eve")]
        for name in ids:
            await rig.outcome(name)
    with tables(tmp_path) as db:
        bodies = [db.one("SELECT body FROM inbox WHERE id = ?", (name,)) for name in ids]
    first, second = bodies if table == "blobs" else ids
    swap(tmp_path, table, column, key="id", rows=(first, second))

    async with opened(tmp_path) as store:
        read = store.inbox.result if column == "result_body" else store.inbox.get
        with pytest.raises(StoreError, match="changed or moved on disk"):
            await read(ids[0])


@pytest.mark.req("J24")
@pytest.mark.parametrize("table", ["inbox", "steps", "outbox"])
async def test_a_row_cannot_refer_to_an_answer_of_another_person(
    tmp_path: Path, table: str
) -> None:
    """What several rows share opens at its own row of `blobs`, so its owner is compared."""
    async with open_rig(tmp_path) as rig:
        ann, eve = [await rig.say("what did I owe?", chat=name) for name in ("ann", "eve")]
        for name in (ann, eve):
            await rig.outcome(name)
    column, key = ("reply_body", "id") if table == "inbox" else ("body", "message_id")
    swap(tmp_path, table, column, key=key, rows=(ann, eve))

    async with opened(tmp_path) as store:
        if table == "outbox":
            shown = await deliveries_of(store, ann)
            assert [one.parts for one in shown] == [None]
            return
        read = store.inbox.result if table == "inbox" else store.timeline
        with pytest.raises(StoreError, match="refers to a body of person"):
            await read(ann)


@pytest.mark.req("J24")
async def test_two_facts_of_a_person_cannot_be_exchanged(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        one, two = await two_facts(store)
    swap(tmp_path, "facts", "sealed", key="id", rows=(one.id, two.id))

    async with opened(tmp_path) as store:
        with pytest.raises(StoreError, match="changed or moved on disk"):
            await store.facts.of(one.person_id)


@pytest.mark.req("J24")
async def test_two_values_of_channels_cannot_be_exchanged(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.channel_state.put("pigeon", "one", value=b"1")
        await store.channel_state.put("pigeon", "two", value=b"2")
    swap(tmp_path, "channel_state", "sealed", key="key", rows=("one", "two"))

    async with opened(tmp_path) as store:
        with pytest.raises(StoreError, match="changed or moved on disk"):
            await store.channel_state.get("pigeon", "one")


@pytest.mark.req("J24")
async def test_a_value_of_an_older_version_is_not_taken_for_a_person_who_never_had_one(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as store:
        one, _ = await two_facts(store)
    with tables(tmp_path, read_only=False) as db:
        sealed = OldSeals(db, KEYS).seal(one.person_id, msgspec.json.encode(one))
        db.execute("UPDATE facts SET sealed = ?2 WHERE id = ?1", (one.id, sealed))

    async with opened(tmp_path) as store:
        with pytest.raises(StoreError, match="changed or moved on disk"):
            await store.facts.of(one.person_id)


@pytest.mark.req("J24")
async def test_values_of_an_older_version_open_until_a_rotation_binds_them(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("hello")
        await rig.outcome(message_id)
        record = await rig.store.inbox.get(message_id)
        assert record is not None
        ann = record.person_id
        known = fact(ann, value="first")
        await put(rig.store, known)
        result = await rig.store.inbox.result(message_id)
    with tables(tmp_path, read_only=False) as db:
        old = OldSeals(db, KEYS)
        old.make_old(ann)
        event = old.seal(ann, msgspec.json.encode(record.event))
        body = db.one("SELECT body FROM inbox WHERE id = ?", (message_id,))
        db.execute("UPDATE blobs SET sealed = ?2 WHERE id = ?1", (body, event))
        sealed = old.seal(ann, msgspec.json.encode(known))
        db.execute("UPDATE facts SET sealed = ?2 WHERE id = ?1", (known.id, sealed))

    async with opened(tmp_path) as store:
        before = await store.inbox.get(message_id)
        assert before is not None
        assert (before.event, await store.facts.of(ann)) == (record.event, (known,))
        both = new_keys() + KEYS
        await store.rotate_keys(both)
        await store.rotate_keys()
        after = await store.inbox.get(message_id)
        assert after is not None
        assert (after.event, await store.facts.of(ann)) == (record.event, (known,))
        assert await store.inbox.result(message_id) == result

    with tables(tmp_path, read_only=False) as db:
        assert len(OldSeals(db, both).key_of(ann)) == KEY_BYTES + 1
        db.execute("UPDATE facts SET sealed = ?2 WHERE id = ?1", (known.id, sealed))
        db.execute("UPDATE blobs SET sealed = ?2 WHERE id = ?1", (body, event))
    async with opened(tmp_path, key_file=both) as store:
        with pytest.raises(StoreError, match="changed or moved on disk"):
            await store.facts.of(ann)
        with pytest.raises(StoreError, match="changed or moved on disk"):
            await store.inbox.get(message_id)


@pytest.mark.req("J24")
async def test_a_rotation_binds_every_sealed_column(tmp_path: Path) -> None:
    async with opened(tmp_path):
        pass
    sql = "SELECT m.name, p.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS p"
    with tables(tmp_path) as db:
        columns = {(str(table), str(column)) for table, column in db.rows(sql)}
    sealed = {one for one in columns if one[1] == "sealed"} | OTHER_SEALED
    statements = [text for name, text in load("sealed_tables").items() if name.startswith("set_")]

    found = [re.search(r"UPDATE (\w+) SET (\w+) =", text) for text in statements]

    assert columns >= OTHER_SEALED
    assert {one.groups() for one in found if one is not None} == sealed - COVERED - NEWER


HOMES = sorted(path.name for path in FOLDER.glob("*.tar.xz"))


async def all_that_opens(store: Store, folder: Path) -> list[object]:
    """Return what is sealed in a store, as its port shows it."""
    with tables(folder) as db:
        messages = [row[0] for row in db.rows("SELECT id FROM inbox ORDER BY seq")]
        people = [row[0] for row in db.rows("SELECT person_id FROM person_keys ORDER BY person_id")]
        states = db.rows("SELECT platform, key FROM channel_state ORDER BY platform, key")
    found: list[object] = [await store.timeline(name) for name in messages]
    found += [await store.facts.of(one) for one in people]
    found += [await store.dreams.of(one) for one in people]
    found += [await store.cron.of_person(one) for one in people]
    found += [await store.users.page(state=None, limit=100), await store.directory.chats()]
    found += [await store.transcripts.sessions(platform=None, limit=100)]
    return [*found, *[await store.channel_state.get(*row) for row in states]]


@pytest.mark.req("J24")
@pytest.mark.parametrize("name", HOMES)
async def test_a_home_of_an_older_version_opens_and_a_rotation_binds_all_of_it(
    tmp_path: Path, name: str
) -> None:
    with tarfile.open(FOLDER / name) as archive:
        archive.extractall(tmp_path, filter="data")
    keys = (tmp_path / "keys" / "store.keys").read_bytes()
    async with opened(tmp_path, key_file=keys) as store:
        before = await all_that_opens(store, tmp_path)
        both = new_keys() + keys
        await store.rotate_keys(both)
        assert await all_that_opens(store, tmp_path) == before

    async with opened(tmp_path, key_file=both) as store:
        assert await all_that_opens(store, tmp_path) == before
    with tables(tmp_path) as db:
        seals = OldSeals(db, both)
        people = [row[0] for row in db.rows("SELECT person_id FROM person_keys")]
        assert {len(seals.key_of(one)) for one in people} == {KEY_BYTES + 1}
    assert len(before) > 20
