"""Where the torture tests get their bench from."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.torture.bench import Bench, open_bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A fork server and stand-ins."""
    async with open_bench(tmp_path) as opened:
        yield opened
