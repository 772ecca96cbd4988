"""A fresh store for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.ports.store import Store
from tests.stores.opening import opened


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(tmp_path) as made:
        yield made
