"""The default model that an operator chose: used from the next turn on, and after a restart."""

import msgspec
import pytest

from hermes.calls.planner import Planner
from hermes.config import Settings
from hermes.control.model_swap import ModelSwaps
from hermes.control.status import ModelSwapStatus
from hermes.errors import NotFound, StoreError
from hermes.ports.operations import ModelSwap
from hermes.routing.policy import policy_of
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_swap import MemoryModelSwap
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider

pytestmark = pytest.mark.req("W7", "P1")


class House:
    """Model services, and what a process makes of the choice that is kept."""

    def __init__(self) -> None:
        self.kept = MemoryModelSwap()
        self.providers = {
            name: ScriptedProvider(info=msgspec.structs.replace(SCRIPTED_INFO, name=name))
            for name in ("house", "other")
        }

    def start(self) -> tuple[ModelSwaps, Planner]:
        planner = Planner(self.providers, policy=policy_of(Settings()))
        swaps = ModelSwaps(self.kept, planner, configured="auto", clock=ManualClock(9.0))
        return swaps, planner


async def test_a_swap_is_used_at_once_and_by_the_next_process() -> None:
    house = House()
    swaps, planner = house.start()
    assert (await swaps.swap("house:large"))[0] == "house:large"
    assert (swaps.model, planner.default_model) == ("house:large", "house:large")

    again, planner = house.start()
    await again.restore()

    assert (again.model, planner.default_model) == ("house:large", "house:large")
    assert again.status() == ModelSwapStatus(model="house:large", at=9.0)


async def test_the_configured_model_comes_back_for_good() -> None:
    house = House()
    swaps, _ = house.start()
    await swaps.swap("house:large")
    await swaps.swap("auto")
    assert (swaps.model, swaps.status()) == ("auto", ModelSwapStatus(model="auto", at=9.0))

    assert await swaps.swap("default") == ("auto", "")

    again, planner = house.start()
    await again.restore()
    assert (again.model, planner.default_model, again.status()) == ("auto", None, None)


async def test_a_model_that_is_refused_changes_nothing() -> None:
    house = House()
    swaps, planner = house.start()
    await swaps.swap("house:large")

    with pytest.raises(NotFound):
        await swaps.swap("nobody:large")

    assert planner.default_model == "house:large"
    assert await house.kept.get() == ModelSwap(model="house:large", at=9.0)


async def test_a_model_that_is_no_longer_configured_is_told_and_left_in_the_store() -> None:
    house = House()
    await house.start()[0].swap("house:large")
    del house.providers["house"]

    swaps, planner = house.start()
    await swaps.restore()

    status = swaps.status()
    assert (swaps.model, planner.default_model) == ("auto", None)
    assert status is not None
    assert "no provider for the explicit model 'house:large'" in (status.problem or "")
    assert await house.kept.get() == ModelSwap(model="house:large", at=9.0)
    await swaps.swap("other:small")
    assert swaps.status() == ModelSwapStatus(model="other:small", at=9.0)


async def test_a_model_that_does_not_answer_at_the_start_stays_the_default() -> None:
    house = House()
    await house.start()[0].swap("house:large")
    house.providers["house"].is_available = False

    swaps, planner = house.start()
    await swaps.restore()

    assert planner.default_model == "house:large"
    assert swaps.status() == ModelSwapStatus(model="house:large", at=9.0)


class FullStore(MemoryModelSwap):
    async def set(self, swap: ModelSwap | None) -> None:
        raise StoreError("the disk is gone")


async def test_a_swap_that_cannot_be_kept_is_not_used() -> None:
    house = House()
    house.kept = FullStore()
    swaps, planner = house.start()

    with pytest.raises(StoreError):
        await swaps.swap("house:large")

    assert (swaps.model, planner.default_model, swaps.status()) == ("auto", None, None)
