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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Stories of many processes take their time on a busy machine."""
    for item in items:
        if "torture" in item.path.parts:
            item.add_marker(pytest.mark.timeout(600))
