"""While the store refuses, every channel that reads in order waits: nothing is lost, nothing overtakes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from hermes import failpoints
from hermes.channel_kit import intake
from tests.contract.channels.cases import CASES
from tests.contract.channels.house import Case, House
from tests.stores.opening import broken_disk, check_space_every, full_disk

_FIT = [case for case in CASES if not case.is_webhook]
# More often than any channel may give a message up.
_REFUSALS = 12
_TEXTS = [f"message {number}" for number in range(1, 6)]


@pytest.fixture
async def house(case: Case, tmp_path: Path) -> AsyncIterator[House]:
    async with House(case, tmp_path / "home") as made:
        yield made
    assert made.platform.rejections == ()


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "_FIRST_S", 0.02)
    monkeypatch.setattr(intake, "_LONGEST_S", 0.05)
    check_space_every(monkeypatch.setattr, 0.02)


class Refusals:
    """A database whose disk fails whenever a message is to be kept, a given number of times."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        self._error = error
        self.left = _REFUSALS

    def __call__(self, _name: str) -> None:
        if self.left > 0:
            self.left -= 1
            raise self._error()


@pytest.fixture(params=[broken_disk, full_disk], ids=["broken disk", "full disk"])
def refusals(request: pytest.FixtureRequest) -> Iterator[Refusals]:
    made = Refusals(request.param)
    failpoints.arm("store.accept.before", made)
    yield made
    failpoints.disarm()


@pytest.mark.parametrize("case", _FIT, ids=[case.name for case in _FIT])
@pytest.mark.usefixtures("short_pauses")
@pytest.mark.req("J1", "W2", "A28")
@pytest.mark.quality("acknowledged after it is kept")
async def test_every_message_arrives_once_and_in_order_when_the_store_takes_them_again(
    house: House, refusals: Refusals
) -> None:
    saying = [asyncio.create_task(house.say(_TEXTS[0]))]
    await house.until(lambda: refusals.left < _REFUSALS)
    for text in _TEXTS[1:]:
        saying.append(asyncio.create_task(house.say(text)))
        await asyncio.sleep(0.02)

    await house.until(lambda: len(house.posts()) >= len(_TEXTS))
    await asyncio.gather(*saying)
    await house.answer("a barrier")

    expected = [f"#{at} {text}" for at, text in enumerate([*_TEXTS, "a barrier"], 1)]
    assert house.texts() == expected
    assert refusals.left == 0
