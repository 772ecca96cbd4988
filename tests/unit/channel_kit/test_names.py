"""Names of people, and the bounded map behind them: known for a while, and never waited for long."""

import asyncio

from hermes.channel_kit.bounded_map import BoundedMap
from hermes.channel_kit.names import Names
from hermes.errors import ConnectFailed
from hermes.testing.manual_time import ManualClock


class Platform:
    """Knows everybody by the id in capitals, unless it fails or hangs."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.fails = False
        self.hangs = False

    async def name_of(self, one: str) -> str | None:
        self.asked.append(one)
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails:
            raise ConnectFailed("no connection")
        return one.upper() if one != "nobody" else None


async def test_a_name_is_asked_for_once_an_hour() -> None:
    platform, clock = Platform(), ManualClock()
    names = Names(platform.name_of, clock=clock)

    assert await names.of(["ann", "nobody", "ann"]) == {"ann": "ANN"}
    assert await names.of(["ann", "nobody"]) == {"ann": "ANN"}
    clock.advance(3601)
    await names.of(["ann"])

    assert platform.asked == ["ann", "nobody", "ann"]


async def test_an_old_name_is_better_than_none_and_a_failure_is_not_repeated_at_once() -> None:
    platform, clock = Platform(), ManualClock()
    names = Names(platform.name_of, clock=clock)
    await names.of(["ann"])
    clock.advance(3601)
    platform.fails = True

    assert await names.of(["ann", "ben"]) == {"ann": "ANN"}
    assert await names.of(["ann", "ben"]) == {"ann": "ANN"}
    clock.advance(61)
    platform.fails = False

    assert await names.of(["ann", "ben"]) == {"ann": "ANN", "ben": "BEN"}
    assert platform.asked == ["ann", "ann", "ben", "ann", "ben"]


async def test_a_platform_that_hangs_holds_nobody_up() -> None:
    platform = Platform()
    platform.hangs = True
    names = Names(platform.name_of, clock=ManualClock(), wait_s=0.01)

    assert await names.of(["ann"]) == {}
    assert await names.of(["ann"]) == {}
    assert platform.asked == ["ann"]


async def test_a_name_that_came_with_a_message_is_not_asked_for() -> None:
    platform = Platform()
    names = Names(platform.name_of, clock=ManualClock())
    names.put("ann", "Ann B.")

    assert await names.of(["ann"]) == {"ann": "Ann B."}
    assert platform.asked == []


def test_a_map_is_bounded_by_what_was_used_longest_ago() -> None:
    kept: BoundedMap[str, int] = BoundedMap(2, lasts_s=10, clock=ManualClock())
    kept.put("a", 1)
    kept.put("b", 2)
    kept.get("a")
    kept.put("c", 3)

    assert ("a" in kept, "b" in kept, "c" in kept, len(kept)) == (True, False, True, 2)


def test_an_entry_ends_and_its_last_value_can_still_be_asked_for() -> None:
    clock = ManualClock()
    kept: BoundedMap[str, int] = BoundedMap(5, lasts_s=10, clock=clock)
    kept.put("a", 1)
    kept.put("b", 2, lasts_s=100)
    clock.advance(11)

    assert (kept.get("a"), kept.last("a"), kept.get("b")) == (None, 1, 2)
    kept.drop("a")
    kept.drop("a")
    assert kept.last("a") is None
