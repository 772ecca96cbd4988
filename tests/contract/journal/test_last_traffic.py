"""When traffic last flowed is known after a restart too, and asked of the store only then."""

from pathlib import Path

import pytest

from hermes.control.channels import ChannelOperations
from hermes.control.runtime import RuntimeHandles
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, equals, open_rig

HOUR_S = 3_600.0
Times = dict[str, tuple[float | None, float | None]]


async def times(rig: Rig) -> Times:
    handles = RuntimeHandles(platforms=rig.core.platforms, flow=rig.core.push.traffic.of)
    report = await ChannelOperations(rig.store, handles, clock=rig.clock).list()
    return {one.platform: (one.last_in, one.last_out) for one in report.channels}


@pytest.mark.req("W2")
async def test_a_restart_forgets_neither_what_came_nor_what_went(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock) as rig:
        assert await times(rig) == {"push": (None, None), "rest": (None, None)}
        await rig.answer("early", platform="push", chat="bob")
        clock.advance(HOUR_S)
        came = clock.now()
        message_id = await rig.say("hello", platform="push")
        await rig.as_time_passes(lambda: len(rig.push.texts("ann")) == 1)
        await rig.until(equals(rig.store.outbox.waiting, 0))
        (row,) = await rig.deliveries(message_id)
        clock.advance(HOUR_S)
        # Much else happens afterwards, and says nothing of the platform.
        for number in range(12):
            await rig.answer("hello", chat=f"c{number}")
        rest_at = clock.now()

    clock.advance(HOUR_S)
    async with open_rig(tmp_path, clock=clock) as rig:
        after = await times(rig)
        rig.core.push.traffic.came("push")
        seen = await times(rig)

    assert row.ended_at is not None
    assert after == {"push": (came, row.ended_at), "rest": (rest_at, rest_at)}
    assert seen["push"] == (clock.now(), row.ended_at)


@pytest.mark.req("W2")
async def test_what_an_operator_sent_counts_as_taken(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, sending=False) as rig:
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)
        (row,) = await rig.deliveries(message_id)
        await rig.store.outbox.dead(row.id, failure="rejected", at=clock.now())
        dead = await times(rig)
        clock.advance(HOUR_S)
        await rig.store.dead_letters.replay(row.id, at=clock.now())
        await rig.store.outbox.sending(row.id, chunk=0, at=clock.now())
        await rig.store.outbox.chunk_sent(
            row.id, chunk=0, platform_message_id="x", last=True, at=clock.now()
        )

        assert dead["push"] == (clock.now() - HOUR_S, None)
        assert (await times(rig))["push"][1] == clock.now()
