"""Fifty units in one commit: one that fails does so alone, and nobody's cancelling undoes one."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.errors import GuardFailed, HermesError, StorageFull, StoreError
from hermes.store.sql.tx import Tx, Unit
from hermes.store.sqlite.connection import open_database
from hermes.store.sqlite.writer import Writer

pytestmark = pytest.mark.sqlite_only

UNITS = 50
BAD = 23


def insert(number: int) -> Unit[int]:
    async def unit(tx: Tx) -> int:
        tx.put("INSERT INTO t VALUES (?1)", number)
        return number

    return unit


async def breaks_a_rule(tx: Tx) -> int:
    tx.put("INSERT INTO t VALUES (?1)", BAD)
    tx.put("INSERT INTO t VALUES (?1)", BAD)
    return BAD


async def raises(tx: Tx) -> int:
    tx.put("INSERT INTO t VALUES (?1)", BAD)
    raise ZeroDivisionError("a defect inside a unit")


async def guards(tx: Tx) -> int:
    tx.put("INSERT INTO t VALUES (?1)", BAD)
    tx.must("UPDATE t SET n = n WHERE n = -1", error=GuardFailed("row -1 is not there"))
    return BAD


def runs_of(runs: list[int]) -> Unit[None]:
    """Return a unit that counts how often it ran."""

    async def unit(_tx: Tx) -> None:
        runs.append(1)

    return unit


class File:
    """A database file with one table, and its writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = open_database(path, synchronous="FULL", vfs=None)
        self.db.execute("CREATE TABLE t (n INTEGER PRIMARY KEY)")
        self.full: list[StorageFull] = []
        self.undone: list[int] = []
        self.writer = Writer(
            self.db,
            batch_max=512,
            on_full=self.full.append,
            on_undone=lambda: self.undone.append(self.writer.commits),
        )

    def on_disk(self) -> set[int]:
        """Return what another connection finds."""
        other = open_database(self.path, synchronous="FULL", vfs=None)
        try:
            return {int(row[0]) for row in other.rows("SELECT n FROM t")}
        finally:
            other.close()


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[File]:
    made = File(tmp_path / "t.db")
    yield made
    await made.writer.close()
    made.db.close()


@pytest.mark.req("J19")
@pytest.mark.parametrize(
    ("unit", "error"),
    [(breaks_a_rule, StoreError), (raises, StoreError), (guards, GuardFailed)],
)
async def test_one_failing_unit_has_49_good_neighbours(
    file: File, unit: Unit[int], error: type[HermesError]
) -> None:
    units = [unit if number == BAD else insert(number) for number in range(UNITS)]

    results = await asyncio.gather(
        *(file.writer.run("unit", unit) for unit in units), return_exceptions=True
    )

    good = [number for number in range(UNITS) if number != BAD]
    assert isinstance(results[BAD], error)
    assert [result for result in results if not isinstance(result, HermesError)] == good
    assert file.on_disk() == set(good)
    assert (file.writer.commits, file.writer.units) == (1, UNITS)


@pytest.mark.req("J19")
async def test_cancelling_a_waiter_does_not_cancel_its_unit(file: File) -> None:
    told: list[int] = []
    waiters = [
        asyncio.create_task(file.writer.run("unit", insert(number), after=told.append))
        for number in range(UNITS)
    ]
    await asyncio.sleep(0)

    waiters[BAD].cancel()
    results = await asyncio.gather(*waiters, return_exceptions=True)
    await file.writer.run("barrier", insert(UNITS))

    assert isinstance(results[BAD], asyncio.CancelledError)
    assert file.on_disk() == set(range(UNITS + 1))
    assert told == list(range(UNITS))


@pytest.mark.req("J19")
async def test_nobody_is_told_before_the_commit(file: File) -> None:
    seen: list[set[int]] = []

    async def one(number: int) -> None:
        await file.writer.run("unit", insert(number))
        seen.append(file.on_disk())

    await asyncio.gather(*(one(number) for number in range(5)))

    assert seen == [set(range(5))] * 5


@pytest.mark.req("J19")
async def test_a_batch_with_a_failure_runs_again_from_a_clean_start(file: File) -> None:
    found: list[set[int]] = []

    async def looks(tx: Tx) -> None:
        found.append({int(row[0]) for row in await tx.rows("SELECT n FROM t")})

    results = await asyncio.gather(
        file.writer.run("unit", looks),
        file.writer.run("unit", insert(1)),
        file.writer.run("unit", guards),
        return_exceptions=True,
    )

    assert [type(result) for result in results] == [type(None), int, GuardFailed]
    assert found == [set(), set()]
    assert file.on_disk() == {1}


@pytest.mark.req("J19")
async def test_failures_in_every_batch_do_not_make_every_unit_run_twice(file: File) -> None:
    runs: list[int] = []

    for _ in range(10):
        await asyncio.gather(
            file.writer.run("unit", runs_of(runs)),
            file.writer.run("unit", guards),
            return_exceptions=True,
        )
    for _ in range(30):
        await file.writer.run("unit", runs_of(runs))

    assert len(runs) == 41
