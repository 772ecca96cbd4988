"""One suite over the choice of a default model in the store and in memory."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.ports.operations import ModelSwap, ModelSwapStore
from hermes.testing.model_swap import MemoryModelSwap
from tests.stores.opening import opened

pytestmark = pytest.mark.req("W7", "P1")
LARGE = ModelSwap(model="house:large", at=1.0)
SMALL = ModelSwap(model="house:small", at=2.0)


@pytest.fixture(params=["memory", "store"])
async def swaps(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ModelSwapStore]:
    if request.param == "memory":
        yield MemoryModelSwap()
        return
    async with opened(tmp_path) as store:
        yield store.model_swap


async def test_the_last_choice_is_kept_until_it_is_deleted(swaps: ModelSwapStore) -> None:
    found = [await swaps.get()]
    for choice in (LARGE, SMALL, None, None):
        await swaps.set(choice)
        found.append(await swaps.get())

    assert found == [None, LARGE, SMALL, None, None]


async def test_the_choice_is_there_after_a_restart(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.model_swap.set(LARGE)

    async with opened(tmp_path) as again:
        assert await again.model_swap.get() == LARGE
