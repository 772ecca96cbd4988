"""A server that talks too fast waits; one that does not is never held up."""

import pytest

from hermes.testing.manual_time import ManualClock
from hermes.tools.mcp.traffic_limit import BURST, PER_SECOND, PIECE_BYTES, TrafficLimit


class Waits:
    """A clock whose sleep takes no time but the clock's."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.waited = 0.0
        self.pace = TrafficLimit(self.clock.monotonic, self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.waited += seconds
        self.clock.advance(seconds)


@pytest.mark.req("W37")
async def test_a_burst_passes_and_a_flood_is_slowed_to_the_pace() -> None:
    waits = Waits()
    for _ in range(int(BURST)):
        await waits.pace.spend(1)
    assert waits.waited == 0.0

    for _ in range(10_000):
        await waits.pace.spend(1)

    assert waits.waited == pytest.approx(10_000 / PER_SECOND, rel=0.01)


@pytest.mark.req("W37")
async def test_large_messages_cost_more_and_quiet_times_are_made_good() -> None:
    waits = Waits()
    await waits.pace.spend_bytes(int(PIECE_BYTES * BURST) + 5 * PIECE_BYTES)
    assert waits.waited == pytest.approx(5 / PER_SECOND)

    waits.clock.advance(3_600)
    await waits.pace.spend(BURST)

    assert waits.waited == pytest.approx(5 / PER_SECOND)
