"""J1, J13: a platform that brings an album again, at whatever moment, changes nothing about its turn."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from hermes import failpoints
from hermes.message.outcome import BusyPolicy
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.test_photo_bursts import ledger, photo

ALBUM = ("a", "b", "c")
# The turn begins when the album is whole, and not by any time.
SETTINGS = {
    "BUSY__PLATFORMS__PUSH": "interrupt",
    "BUSY__PHOTO_BURST_S": "3600",
    "BUSY__MAX_MERGED": str(len(ALBUM)),
}


def new_home(folder: Path, number: int) -> Path:
    home = folder / str(number)
    home.mkdir()
    return home


async def deliver(rig: Rig, name: str) -> str:
    return await rig.say("", platform="push", name=name, album="album", attached=(photo(name),))


async def deliver_all(rig: Rig) -> list[str]:
    return [await deliver(rig, name) for name in ALBUM]


@asynccontextmanager
async def delivered_without_end(rig: Rig) -> AsyncIterator[None]:
    """Bring the album again and again, so that a repeat is on its way at every moment."""

    async def repeat(name: str) -> None:
        while True:
            await deliver(rig, name)

    repeats = [asyncio.create_task(repeat(name)) for name in ALBUM]
    try:
        yield
    finally:
        for task in repeats:
            task.cancel()
        await asyncio.gather(*repeats, return_exceptions=True)


async def check_one_turn(rig: Rig, sent: list[str]) -> None:
    """Check that the album was answered by one turn, with one reply, charged once."""
    outcomes = [await rig.outcome(one) for one in sent]
    assert outcomes == ["answered", "merged", "merged"], (await rig.timeline(sent[0])).events
    await rig.until(lambda: len(rig.push.posts) == 1)
    assert [await ledger(rig, one) for one in sent] == [[("capture", -1)], [], []]
    assert [len((await rig.timeline(one)).deliveries) for one in sent] == [1, 0, 0]
    assert rig.store.inbox.waiting() == 0


@pytest.mark.req("J1", "J13")
async def test_repeats_at_every_moment_leave_an_album_one_turn(tmp_path: Path) -> None:
    for number in range(10):
        async with open_rig(new_home(tmp_path, number), settings=SETTINGS) as rig:
            sent = await deliver_all(rig)
            async with delivered_without_end(rig):
                await check_one_turn(rig, sent)
            assert await deliver_all(rig) == sent
            assert len(rig.model.calls) == 1


@pytest.fixture
def places() -> Iterator[None]:
    yield
    failpoints.disarm()


async def live_once(home: Path, *, repeat_at: int) -> bool:
    """Let an album live, and bring it again at the n-th failpoint; tells whether there is one."""
    repeats: list[asyncio.Task[list[str]]] = []
    passed = count(1)
    async with open_rig(home, settings=SETTINGS) as rig:

        def repeat_here(_name: str) -> None:
            if next(passed) == repeat_at:
                repeats.append(asyncio.create_task(deliver_all(rig)))

        failpoints.watch(repeat_here)
        sent = await deliver_all(rig)
        await check_one_turn(rig, sent)
        failpoints.disarm()
        assert await asyncio.gather(*repeats) in ([sent], [])
        assert len(rig.model.calls) == 1
    return bool(repeats)


@pytest.mark.req("J1", "J13")
@pytest.mark.usefixtures("places")
async def test_repeats_at_each_write_leave_an_album_one_turn(tmp_path: Path) -> None:
    for number in count(1):
        if not await live_once(new_home(tmp_path, number), repeat_at=number):
            break

    assert number > 10


@pytest.mark.req("J1", "J13", "J8")
async def test_repeats_after_a_crash_leave_the_turn_that_goes_on_alone(tmp_path: Path) -> None:
    clock = ManualClock()

    def hang(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(fault="hang")

    async with open_rig(tmp_path, clock=clock, script=hang, settings=SETTINGS) as rig:
        sent = await deliver_all(rig)
        await rig.until(lambda: len(rig.model.calls) == 1)

    async with (
        open_rig(tmp_path, clock=clock, settings=SETTINGS) as rig,
        delivered_without_end(rig),
    ):
        await check_one_turn(rig, sent)


@pytest.mark.req("J1", "J13")
async def test_repeats_do_not_stop_the_turn_of_those_that_their_host_gave_back(
    tmp_path: Path,
) -> None:
    def fail_first(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(fault="status", status=400) if number == 1 else ScriptedTurn(text="yes")

    quick = {**SETTINGS, "BUSY__PHOTO_BURST_S": "0.01"}
    async with open_rig(tmp_path, script=fail_first, settings=quick, start=False) as rig:
        sent = await deliver_all(rig)
        await rig.start()
        async with delivered_without_end(rig):
            outcomes = [await rig.outcome(one) for one in sent]

        assert outcomes == ["failed", "answered", "merged"]


@pytest.mark.req("J13")
async def test_a_message_that_joined_before_its_lane_heard_of_it_does_not_stop_the_turn(
    tmp_path: Path,
) -> None:
    def think(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text="three photos", delay_s=0.1)

    async with open_rig(tmp_path, script=think, settings=SETTINGS) as rig:
        sent = await deliver_all(rig)
        await rig.until(lambda: len(rig.model.calls) == 1)

        lane = rig.lane(platform="push")
        rig.core.lanes.arrived(lane, message_id=sent[1], busy=BusyPolicy.INTERRUPT)

        await check_one_turn(rig, sent)
