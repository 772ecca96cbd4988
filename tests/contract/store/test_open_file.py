"""The database file is removed, moved or replaced under an open store."""

from pathlib import Path

import pytest

from hermes.ports.store import Store
from hermes.store.sqlite.inspection import inspect
from hermes.store.sqlite.open_file import newest_rescued
from hermes.testing.manual_time import ManualClock
from tests.stores.engine import Options
from tests.stores.opening import KEYS, open_store

pytestmark = pytest.mark.sqlite_only


class Opened:
    """An open store whose clock a test moves."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hermes.db"
        self.clock = ManualClock()
        self.store: Store

    async def open(self) -> Store:
        """Open the file, also once more."""
        options = Options(synchronous="FULL", disk_reserve_mb=0)
        return await open_store(self.path.parent, clock=self.clock, options=options)

    def problem(self) -> str:
        """Return what the store says of itself after a while."""
        self.clock.advance(2)
        return self.store.writable() or ""

    def remove(self, suffixes: tuple[str, ...]) -> None:
        """Remove the database, or files beside it."""
        for suffix in suffixes:
            Path(f"{self.path}{suffix}").unlink()

    def files(self) -> list[str]:
        """Return what is in the folder."""
        return sorted(one.name for one in self.path.parent.iterdir())

    def rescued(self) -> Path:
        """Return the copy that closing left."""
        found = newest_rescued(self.path)
        assert found is not None
        return found


@pytest.fixture
async def opened(tmp_path: Path) -> Opened:
    opened = Opened(tmp_path)
    opened.store = await opened.open()
    await opened.store.users.add("rest", "ann", name="Ann", at=1.0)
    return opened


async def reopened(opened: Opened) -> str | None:
    """Put the copy in the place of the lost file; returns the person that was stored."""
    opened.rescued().rename(opened.path)
    store = await opened.open()
    person = (await store.users.channel_access("rest", "ann")).person_id
    await store.close()
    return person


@pytest.mark.req("J2")
@pytest.mark.parametrize("suffixes", [("",), ("", "-wal", "-shm")])
async def test_a_removed_file_is_noticed_and_written_again_at_the_end(
    opened: Opened, suffixes: tuple[str, ...]
) -> None:
    person = (await opened.store.users.channel_access("rest", "ann")).person_id
    opened.remove(suffixes)

    said = opened.problem()
    await opened.store.users.add("rest", "bob", name="Bob", at=2.0)
    await opened.store.close()

    assert "was removed or moved" in said
    assert "hermes.db.rescued" in said
    assert opened.files() == ["hermes.db.rescued"]
    assert opened.rescued().stat().st_mode & 0o777 == 0o600
    assert await reopened(opened) == person


@pytest.mark.req("J2")
async def test_a_file_that_is_moved_back_is_taken_again(opened: Opened) -> None:
    elsewhere = opened.path.with_name("elsewhere.db")

    opened.path.rename(elsewhere)
    said = opened.problem()
    elsewhere.rename(opened.path)

    assert "move it back" in said
    assert opened.problem() == ""
    await opened.store.close()
    assert newest_rescued(opened.path) is None


@pytest.mark.req("J2")
async def test_another_file_in_its_place_is_noticed_and_not_touched(opened: Opened) -> None:
    opened.path.unlink()
    opened.path.write_bytes(b"another file")

    said = opened.problem()
    await opened.store.close()

    assert "was replaced by another file" in said
    assert opened.path.read_bytes() == b"another file"
    # No -wal: it would be written into whatever has the name next.
    assert opened.files() == ["hermes.db", "hermes.db.rescued"]
    assert await reopened(opened) is not None


async def test_an_earlier_copy_is_kept(opened: Opened) -> None:
    opened.path.with_name("hermes.db.rescued").write_bytes(b"the first")
    opened.path.unlink()

    said = opened.problem()
    await opened.store.close()

    assert "hermes.db.rescued.2" in said
    assert opened.path.with_name("hermes.db.rescued").read_bytes() == b"the first"
    assert opened.rescued().name == "hermes.db.rescued.2"


@pytest.mark.req("W7")
async def test_a_healthy_database_has_no_faults(opened: Opened) -> None:
    await opened.store.close()

    found = inspect(opened.path, KEYS, alive=lambda: None)

    assert (found.faults, found.key_problem, found.version) == ((), None, found.newest)
