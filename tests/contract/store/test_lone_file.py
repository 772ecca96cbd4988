"""A database without its WAL: noticed if the WAL had its newest data, and never by mistake."""

import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from hermes.errors import StoreError
from hermes.store.sqlite.connection import lacks_wal, open_reader
from hermes.store.sqlite.copies import copy_database
from tests.stores.engine import Options
from tests.stores.opening import KEYS, open_store, opened

pytestmark = pytest.mark.sqlite_only

SYNCED = Options(synchronous="FULL", disk_reserve_mb=0)
# Opens the store of a folder, stores a person, and dies: at a failpoint of its stop, if one is named.
KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from hermes import failpoints
from tests.stores.engine import Options
from tests.stores.opening import open_store
async def start():
    store = await open_store(Path(sys.argv[1]), key_file=sys.argv[2].encode(),
        options=Options(synchronous="FULL", disk_reserve_mb=0))
    await store.users.add("rest", "ann", name="Ann", at=1.0)
    failpoints.arm_from(sys.argv[3])
    if sys.argv[3]:
        await store.close()
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(start())
"""


def kill_after_a_write(folder: Path, *, at: str = "") -> None:
    command = [sys.executable, "-c", KILLED, str(folder), KEYS.decode(), at]
    assert subprocess.run(command, check=False).returncode == -9


async def has_ann(folder: Path) -> bool:
    """Return whether the person is stored."""
    async with opened(folder) as store:
        return (await store.users.channel_access("rest", "ann")).person_id is not None


@pytest.mark.req("J20", "W1")
async def test_a_copy_of_the_file_alone_is_refused_with_a_way_on(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    store = await open_store(tmp_path, options=SYNCED)
    await store.users.add("rest", "ann", name="Ann", at=1.0)
    shutil.copy(tmp_path / "hermes.db", copy)

    with pytest.raises(StoreError, match=r"hermes\.db-wal .*--accept-lone-database"):
        await open_store(copy, options=SYNCED)
    shutil.copy(tmp_path / "hermes.db-wal", copy)
    with_wal = await has_ann(copy)
    await store.close()

    assert with_wal
    assert await has_ann(tmp_path)


@pytest.mark.req("J20", "W1")
@pytest.mark.parametrize("content", [None, b""])
async def test_a_removed_wal_is_noticed_and_what_is_there_can_be_accepted(
    tmp_path: Path, content: bytes | None
) -> None:
    kill_after_a_write(tmp_path)
    wal = tmp_path / "hermes.db-wal"
    wal.unlink()
    if content is not None:
        wal.write_bytes(content)

    with pytest.raises(StoreError, match="--accept-lone-database"):
        await open_store(tmp_path, options=SYNCED)
    accepted = await open_store(tmp_path, options=Options(accepts_lone=True, disk_reserve_mb=0))
    await accepted.close()

    assert not lacks_wal(tmp_path / "hermes.db")


@pytest.mark.req("A8", "J20")
async def test_a_killed_process_leaves_a_database_that_opens(tmp_path: Path) -> None:
    for _ in range(2):
        kill_after_a_write(tmp_path)

    assert await has_ann(tmp_path)


@pytest.mark.req("A8", "J20")
@pytest.mark.parametrize("point", ["store.close.before", "store.close.after"])
async def test_a_process_that_is_killed_in_its_stop_leaves_a_database_that_opens(
    tmp_path: Path, point: str
) -> None:
    kill_after_a_write(tmp_path, at=point)

    assert await has_ann(tmp_path)


@pytest.mark.req("J20")
async def test_after_a_clean_stop_the_file_alone_is_whole(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    kill_after_a_write(tmp_path)
    assert await has_ann(tmp_path)

    shutil.copy(tmp_path / "hermes.db", copy)

    assert not (tmp_path / "hermes.db-wal").exists()
    assert await has_ann(copy)


@pytest.mark.req("J20")
async def test_a_reader_leaves_the_wal_of_a_killed_process(tmp_path: Path) -> None:
    kill_after_a_write(tmp_path)

    open_reader(tmp_path / "hermes.db", vfs=None).close()

    assert (tmp_path / "hermes.db-wal").stat().st_size > 0
    assert await has_ann(tmp_path)


@pytest.mark.req("A8", "J20")
@pytest.mark.parametrize("is_reading", [True, False])
async def test_a_reader_from_before_a_start_leaves_the_wal_of_that_process(
    tmp_path: Path, is_reading: bool
) -> None:
    await (await open_store(tmp_path, options=SYNCED)).close()
    reader = open_reader(tmp_path / "hermes.db", vfs=None)
    if is_reading:
        reader.execute("BEGIN")
        reader.one("SELECT count(*) FROM people")
    kill_after_a_write(tmp_path)

    reader.close()

    assert (tmp_path / "hermes.db-wal").stat().st_size > 0
    assert await has_ann(tmp_path)


@pytest.mark.req("J20")
async def test_a_reader_that_outlives_the_writer_loses_nothing(tmp_path: Path) -> None:
    store = await open_store(tmp_path, options=SYNCED)
    await store.users.add("rest", "ann", name="Ann", at=1.0)
    beside = open_reader(tmp_path / "hermes.db", vfs=None)
    await store.close()
    beside.close()

    assert not lacks_wal(tmp_path / "hermes.db")
    assert await has_ann(tmp_path)


@pytest.mark.req("J20")
async def test_a_start_that_fails_leaves_the_wal_of_a_killed_process(tmp_path: Path) -> None:
    kill_after_a_write(tmp_path)

    with pytest.raises(StoreError, match="key"):
        await open_store(tmp_path, key_file=b"A" * 43 + b"=\n", options=SYNCED)

    assert await has_ann(tmp_path)


@pytest.mark.req("J20")
@pytest.mark.parametrize("how", ["backup", "vacuum"])
async def test_a_copy_that_sqlite_made_meanwhile_is_whole(tmp_path: Path, how: str) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    store = await open_store(tmp_path, options=SYNCED)
    await store.users.add("rest", "ann", name="Ann", at=1.0)

    beside = open_reader(tmp_path / "hermes.db", vfs=None)
    if how == "backup":
        copy_database(beside, copy / "hermes.db")
    else:
        plain = apsw.Connection(str(tmp_path / "hermes.db"))
        plain.execute("VACUUM INTO ?", (str(copy / "hermes.db"),))
        plain.close()
    beside.close()
    await store.close()

    assert await has_ann(copy)
