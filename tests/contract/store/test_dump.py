"""The dump of a SQLite store is one view of it, whatever is written meanwhile."""

from pathlib import Path

import pytest

from hermes.errors import StoreError
from hermes.store.sqlite.backup import SqliteBackup
from hermes.store.sqlite.connection import Database
from tests.stores.opening import KEYS, new_keys, opened

pytestmark = pytest.mark.sqlite_only

STEPS = 12


def filled(path: Path) -> Database:
    """Return a connection to a database that a dump needs several steps for."""
    db = Database(str(path))
    db.execute("CREATE TABLE filler (x)")
    db.execute(f"INSERT INTO filler VALUES (zeroblob({STEPS * 4_096_000}))")
    return db


@pytest.mark.req("J20", "A8")
async def test_what_is_written_during_a_dump_is_not_in_it_and_does_not_hold_it_up(
    tmp_path: Path,
) -> None:
    told: list[int] = []
    (tmp_path / "dump").mkdir()
    async with opened(tmp_path) as store:
        await store.users.add("rest", "ann", name="Ann", at=1.0)
        beside = filled(tmp_path / "hermes.db")

        def write(done: int, _total: int) -> None:
            told.append(done)
            beside.execute("INSERT INTO filler VALUES (1)")
            assert len(told) < 5 * STEPS

        backup = SqliteBackup(tmp_path / "hermes.db", lambda: KEYS)
        backup.dump(tmp_path / "dump", tell=write)
        beside.close()

    copy = Database(str(tmp_path / "dump" / "hermes.db"))
    assert len(told) > STEPS
    assert copy.one("SELECT count(*) FROM filler") == 1
    assert copy.one("SELECT count(*) FROM user_channels") == 1
    copy.close()


@pytest.mark.req("J20", "J24")
async def test_a_key_that_is_rotated_during_a_dump_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    keys = [KEYS, new_keys()]
    async with opened(tmp_path):
        backup = SqliteBackup(tmp_path / "hermes.db", lambda: keys.pop(0))

        with pytest.raises(StoreError, match="rotated during the backup"):
            backup.dump(tmp_path / "dump", tell=lambda _done, _total: None)
