"""A platform's connection is lost and made again: replies wait, grow old, and leave afterwards."""

from pathlib import Path

import pytest

from hermes.app.connect import Connections
from hermes.control.channels import ChannelOperations
from hermes.control.runtime import RuntimeHandles
from hermes.message.outcome import DeliveryState
from hermes.ports.channel import Capabilities
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import open_rig

CAN = Capabilities(
    delivery="push", unknown="allow", edit=True, key_window_s=3600.0, media=("image",)
)


@pytest.mark.req("J18", "W2")
async def test_nothing_is_sent_while_the_connection_is_lost_and_all_of_it_afterwards(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        rig.core.push.lost("push")
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)
        await rig.core.push.senders["push"].flush(1.0)
        assert rig.push.texts("ann") == []

        rig.core.push.connected(rig.push)
        await rig.as_time_passes(lambda: len(rig.push.texts("ann")) == 1)

        assert (await rig.deliveries(message_id))[0].state is DeliveryState.SENT
        assert len(rig.core.push.senders) == 1


@pytest.mark.req("J18")
async def test_a_reply_dies_of_age_while_its_platform_is_lost(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock) as rig:
        rig.core.push.lost("push")
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)

        clock.advance(3601)
        await rig.core.maintenance.upkeep.round()

        row = (await rig.deliveries(message_id))[0]
        assert (row.state, row.failure) == (DeliveryState.DEAD, "too_old")


@pytest.mark.req("W20", "J18")
async def test_a_platform_that_rests_still_rests_when_it_connects_again(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("hello", platform="push")
        rig.core.push.pause({"push"})
        rig.core.push.lost("push")
        await rig.outcome(message_id)

        rig.core.push.connected(rig.push)
        await rig.core.push.senders["push"].flush(1.0)
        assert rig.push.texts("ann") == []

        rig.core.push.pause(())
        await rig.as_time_passes(lambda: len(rig.push.texts("ann")) == 1)


@pytest.mark.req("W2", "W20")
async def test_the_list_shows_what_a_platform_can_do_and_when_traffic_flowed(
    tmp_path: Path,
) -> None:
    push = MemoryChannel(CAN, name="push")
    async with open_rig(tmp_path, push=push, sending=False) as rig:
        core = rig.core
        connections = Connections(
            {"push": push},
            accept=core.inbox.accept,
            on_connected=core.push.connected,
            on_lost=core.push.lost,
            on_change=lambda _states: None,
            traffic=core.push.traffic,
            clock=rig.clock,
        )
        connections.start()
        handles = RuntimeHandles(
            platforms=core.platforms, channels=connections.states, abilities=core.abilities
        )
        desk = ChannelOperations(rig.store, handles, clock=rig.clock)
        try:
            await rig.until(lambda: connections.states()[0].state == "connected")
            rig.clock.advance(10)
            came = rig.clock.now()
            await rig.say("hello", platform="push")
            await rig.as_time_passes(lambda: len(push.texts("ann")) == 1)

            line = next(one for one in (await desk.list()).channels if one.platform == "push")
        finally:
            await connections.stop()

        assert line.can == ("edit", "keys", "image")
        assert (line.state, line.last_in) == ("connected", came)
        assert line.last_out is not None
        assert line.last_out >= rig.clock.now() - 5
