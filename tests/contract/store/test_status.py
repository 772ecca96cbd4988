"""What `hermes status` is told of the files of the store."""

from pathlib import Path

import pytest

from tests.stores.opening import opened

pytestmark = pytest.mark.sqlite_only


async def test_files_that_are_gone_have_no_bytes(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        files = [tmp_path / name for name in ("hermes.db", "hermes.db-wal")]
        size = sum(file.stat().st_size for file in files)
        before = (await store.status())["bytes"]
        for file in files:
            file.unlink()
        after = (await store.status())["bytes"]

    assert (before, after) == (size, 0)
