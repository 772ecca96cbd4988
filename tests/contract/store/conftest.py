"""A fresh store for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.store.sqlite.store import SqliteStore
from tests.contract.store.opening import opened


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with opened(tmp_path) as made:
        yield made
