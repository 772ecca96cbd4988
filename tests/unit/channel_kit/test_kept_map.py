"""The map that survives a restart holds the newest entries, and little more."""

import pytest

from hermes.channel_kit.kept_map import KeptMap
from hermes.testing.channel_state import memory_state

pytestmark = pytest.mark.req("J17")


async def held(kept: KeptMap, count: int) -> list[int]:
    return [number for number in range(count) if await kept.get(str(number)) is not None]


async def test_what_was_written_is_found_by_the_next_process() -> None:
    state = memory_state()
    await KeptMap(state, "file/", most=5).put("k1", "ä")

    again = KeptMap(state, "file/", most=5)

    assert [await again.get("k1"), await again.get("k2")] == ["ä", None]
    assert await KeptMap(state, "thread/", most=5).get("k1") is None


async def test_the_newest_stay_and_at_most_a_tenth_more() -> None:
    kept = KeptMap(memory_state(), "file/", most=20)
    for number in range(100):
        await kept.put(str(number), "x")

    assert await held(kept, 100) == list(range(79, 100))


async def test_processes_that_write_little_keep_the_bound_too() -> None:
    state = memory_state()
    for number in range(50):
        await KeptMap(state, "file/", most=20).put(str(number), "x")

    assert await held(KeptMap(state, "file/", most=20), 50) == list(range(30, 50))
