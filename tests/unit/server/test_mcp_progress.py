"""What a caller over `/mcp` hears of a turn: bounded, and never in the way of the result."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from hermes.pipeline.watch import WatchHub
from hermes.ports.upward import Progress
from hermes.server.mcp.progress import TurnReports
from hermes.testing.manual_time import ManualClock

pytestmark = pytest.mark.req("W43")


class Watched:
    """The watching half of the gateway API, on the real hub."""

    def __init__(self) -> None:
        self.hub = WatchHub()
        self.is_watched = asyncio.Event()
        self.has_seen_all = asyncio.Event()

    async def watch(self, message_id: str) -> AsyncIterator[Progress]:
        async for progress in self.hub.subscribe(message_id):
            self.is_watched.set()
            yield progress
            if progress.kind == "settled":
                self.has_seen_all.set()


async def test_a_turn_that_tells_very_much_is_told_about_less_often() -> None:
    api, clock, heard = Watched(), ManualClock(), list[tuple[int, str]]()
    is_over = asyncio.Event()

    async def report(number: int, text: str) -> None:
        heard.append((number, text))
        if text == "the end":
            is_over.set()

    async with TurnReports("m_1", report, clock=clock).during(api):
        await api.is_watched.wait()
        for number in range(4_000):
            api.hub.publish("m_1", Progress(kind="status", text=f"status {number}" + "x" * 600))
            api.hub.publish("m_1", Progress(kind="delta", text="word "))
        api.hub.publish("m_1", Progress(kind="settled"))
        await api.has_seen_all.wait()
        clock.advance(1)
        api.hub.publish("m_1", Progress(kind="status", text="the end"))
        await is_over.wait()

    assert heard[0] == (1, "m_1: accepted")
    assert max(len(text) for _, text in heard) == 500
    assert [number for number, _ in heard] == list(range(1, len(heard) + 1))
    # What is first, twenty at once, and the end, after a second in which five more were possible.
    assert len(heard) == 22


async def test_the_result_does_not_wait_for_a_caller_that_does_not_read() -> None:
    api = Watched()
    blocked = asyncio.Event()

    async def report(_number: int, _text: str) -> None:
        blocked.set()
        await asyncio.Event().wait()

    async with TurnReports("m_1", report, clock=ManualClock()).during(api):
        await blocked.wait()

    assert not api.is_watched.is_set()


async def test_nothing_is_watched_for_a_caller_that_wants_no_progress() -> None:
    api = Watched()

    async with TurnReports("m_1", None, clock=ManualClock()).during(api):
        await asyncio.sleep(0)

    assert not api.is_watched.is_set()
