"""The store of a gateway as it is shipped: what is acknowledged was synced to the disk."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from hermes.app.store_files import open_store
from hermes.config import ensure_home, load
from hermes.message.ids import make_id
from hermes.testing.manual_time import ManualClock

pytestmark = pytest.mark.sqlite_only


class CountingDisk(apsw.VFS):
    """Counts how often a write-ahead log is synced; every connection of the process uses it."""

    def __init__(self) -> None:
        super().__init__("counting", "unix", makedefault=True)
        self.syncs = 0

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        return CountingFile("unix", name, flags, disk=self)


class CountingFile(apsw.VFSFile):
    """One open file."""

    def __init__(
        self,
        base: str,
        name: str | apsw.URIFilename | None,
        flags: list[int],
        *,
        disk: CountingDisk,
    ) -> None:
        super().__init__(base, name, flags)
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        self._disk = disk

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.syncs += self._is_log
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[CountingDisk]:
    made = CountingDisk()
    yield made
    made.unregister()


@pytest.mark.req("J2", "J19")
async def test_every_commit_is_synced_before_it_is_acknowledged(
    tmp_path: Path, disk: CountingDisk
) -> None:
    ensure_home(tmp_path)
    settings = load({}, tmp_path).settings
    store = open_store(tmp_path, settings, clock=ManualClock(), make_id=make_id)

    # The first commit also marks the file as in use.
    await store.users.add("rest", "cleo", name="cleo", at=1.0)
    synced = []
    for user in ("ann", "bob"):
        before = disk.syncs
        await store.users.add("rest", user, name=user, at=1.0)
        synced.append(disk.syncs - before)
    await store.close()

    assert synced == [1, 1]
