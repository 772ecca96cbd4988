"""Before a migration the store keeps a copy of the database, if there is room for it."""

from importlib import resources
from pathlib import Path

import pytest

from hermes.errors import StoreError
from hermes.store.sql.seal import Sealer
from hermes.store.sqlite.adoption import steps_beside
from hermes.store.sqlite.connection import Database, newest_version
from hermes.store.sqlite.copies import kept_copies
from tests.stores.engine import Options
from tests.stores.opening import KEYS, open_store, opened

pytestmark = pytest.mark.sqlite_only


OLD = 22


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of an older schema, in which a person is stored."""
    path, folder = tmp_path / "hermes.db", resources.files("hermes.store.sqlite.migrations")
    names = sorted(one.name for one in folder.iterdir() if one.name.endswith(".sql"))
    db, steps = Database(str(path)), steps_beside(Sealer(KEYS))
    for name in names[:OLD]:
        db.execute(folder.joinpath(name).read_text())
        steps.get(name, lambda _: None)(db)
    db.execute(f"PRAGMA user_version = {OLD}")
    db.execute("INSERT INTO people (id, created_at) VALUES ('p_ann', 5.0)")
    db.execute(
        "INSERT INTO user_channels (platform, user_id, person_id) VALUES ('rest', 'ann', 'p_ann')"
    )
    db.close()
    return path


@pytest.mark.req("W1")
async def test_the_copy_is_the_database_of_before(old: Path) -> None:
    async with opened(old.parent) as store:
        person = (await store.users.channel_access("rest", "ann")).person_id

    (copy,) = kept_copies(old)
    before = Database(str(copy))
    assert before.pragma("user_version") == OLD
    assert before.one("SELECT person_id FROM user_channels") == person
    assert copy.stat().st_mode & 0o777 == 0o600
    assert copy.name == f"hermes.db.v{OLD}"
    before.close()


@pytest.mark.req("W1")
async def test_the_way_back_is_to_put_the_copy_in_its_place(old: Path) -> None:
    async with opened(old.parent) as store:
        await store.users.add("rest", "bob", name="Bob", at=2.0)

    kept_copies(old)[0].rename(old)
    async with opened(old.parent) as store:
        found = [
            (await store.users.channel_access("rest", name)).person_id is not None
            for name in ("ann", "bob")
        ]

    assert found == [True, False]


@pytest.mark.req("W1", "J2")
async def test_without_room_nothing_is_migrated_unless_told_so(old: Path) -> None:
    def full(_: Path) -> int:
        return 1000

    with pytest.raises(StoreError, match=r"no room for a copy .*hermes up --no-copy"):
        await open_store(old.parent, measure=full)
    db = Database(str(old))
    untouched = db.pragma("user_version")
    db.close()
    store = await open_store(old.parent, measure=full, options=Options(copies=False))
    await store.close()

    assert untouched == OLD
    assert kept_copies(old) == []
    assert not (old.parent / "copies").exists()


@pytest.mark.req("W1")
async def test_only_the_newest_two_copies_stay(old: Path) -> None:
    folder = old.parent / "copies"
    folder.mkdir()
    for version in (9, 10, 21):
        (folder / f"hermes.db.v{version}").write_bytes(b"old")
    (folder / "notes.txt").write_bytes(b"not ours")

    async with opened(old.parent):
        pass

    assert [one.name for one in kept_copies(old)] == ["hermes.db.v22", "hermes.db.v21"]
    assert (folder / "notes.txt").exists()


@pytest.mark.req("W1")
async def test_a_database_of_today_is_not_copied(tmp_path: Path) -> None:
    for _ in range(2):
        async with opened(tmp_path):
            pass

    assert newest_version() > 0
    assert not (tmp_path / "copies").exists()
