"""A loop that stands still is noticed, and the log says where it is stuck."""

import asyncio
import threading

import pytest
import structlog
from structlog.testing import LogCapture

from hermes.ops.watchdog import LoopWatch, Watchdog
from hermes.ports.clock import SystemClock


@pytest.mark.req("W7")
def test_a_stall_is_told_once_and_its_end_too():
    watch = LoopWatch(10, now=0)
    assert [watch.look(5), watch.look(10), watch.look(15)] == [None, 10, None]
    assert watch.beat(16) == 16
    assert watch.beat(17) is None
    assert [watch.look(20), watch.look(27)] == [None, 10]


class Bell(LogCapture):
    """Rings when the loop is said to be stuck."""

    def __init__(self) -> None:
        super().__init__()
        self.rang = threading.Event()

    def __call__(self, logger, method_name, event_dict):
        self.entries.append({**event_dict, "level": method_name})
        if event_dict["event"] == "loop_stalled":
            self.rang.set()
        raise structlog.DropEvent


def block_the_loop(bell: Bell) -> bool:
    return bell.rang.wait(20)


@pytest.mark.req("W7")
async def test_the_log_names_the_place_where_the_loop_is_stuck():
    bell, pets = Bell(), []
    structlog.configure(processors=[bell])
    dog = Watchdog(
        stall_s=0.05, monotonic=SystemClock().monotonic, pet=lambda: pets.append(1), beat_s=0.01
    )
    dog.start()
    try:
        told = block_the_loop(bell)
        before = len(pets)
        while len(pets) == before:  # noqa: ASYNC110  a timer of the loop does it
            await asyncio.sleep(0)
    finally:
        dog.stop()
        structlog.reset_defaults()

    stalled, again = bell.entries
    assert told
    assert (stalled["event"], stalled["level"]) == ("loop_stalled", "error")
    assert any("block_the_loop" in place for place in stalled["stack"])
    assert again["event"] == "loop_moves_again"
