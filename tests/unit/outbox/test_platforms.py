"""Which push platforms send: connected ones, unless an operator paused them."""

from collections.abc import AsyncIterator

import pytest

from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.platforms import PushPlatforms
from hermes.ports.channel import Capabilities
from hermes.ports.signals import Signals
from hermes.testing.manual_time import ManualTime, settle
from hermes.testing.memory_channel import MemoryChannel
from tests.unit.outbox.conftest import Bench


class Platforms:
    """The platforms of a gateway over the twins of a bench, with one channel named `memory`."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.signals = Signals()
        self.channel = MemoryChannel(Capabilities(delivery="push"))
        self.push = PushPlatforms(
            bench.store, timing=OutboxTiming(), clock=bench.time, signals=self.signals
        )

    async def sent(self) -> list[str]:
        """Return what was sent to the one chat so far."""
        self.signals.wake_outbox("memory")
        await settle()
        return self.channel.texts("c1")


@pytest.fixture
async def platforms(bench: Bench) -> AsyncIterator[Platforms]:
    made = Platforms(bench)
    yield made
    await made.push.stop()


@pytest.mark.req("J18")
async def test_a_platform_sends_once_it_is_connected_and_not_while_it_is_lost(
    platforms: Platforms,
) -> None:
    platforms.bench.reply("one")
    assert await platforms.sent() == []

    platforms.push.connected(platforms.channel)
    assert await platforms.sent() == ["one"]
    assert list(platforms.push.sending) == ["memory"]

    platforms.push.lost("memory")
    platforms.bench.reply("two")
    assert await platforms.sent() == ["one"]
    assert (list(platforms.push.sending), platforms.push.served()) == ([], ())

    platforms.push.connected(platforms.channel)
    assert await platforms.sent() == ["one", "two"]


@pytest.mark.req("J18")
async def test_a_paused_platform_stays_paused_when_it_is_connected_again(
    platforms: Platforms,
) -> None:
    paused, sending = platforms.push.paused, platforms.push.sending
    platforms.push.pause({"memory"})
    platforms.bench.reply("one")

    platforms.push.connected(platforms.channel)
    assert await platforms.sent() == []
    assert (set(paused), list(sending)) == ({"memory"}, [])
    assert platforms.push.served() == ("memory", "memory")

    platforms.push.pause(())
    assert await platforms.sent() == ["one"]
    assert (set(paused), list(sending)) == (set(), ["memory"])


@pytest.mark.req("J18")
async def test_pausing_what_is_paused_already_changes_nothing(platforms: Platforms) -> None:
    platforms.push.pause({"memory"})
    platforms.push.pause(platforms.push.paused)

    assert set(platforms.push.paused) == {"memory"}


@pytest.mark.req("J18")
async def test_a_channel_that_replaces_another_sends_from_then_on(platforms: Platforms) -> None:
    platforms.push.connected(platforms.channel)
    other = MemoryChannel(Capabilities(delivery="push"))

    platforms.push.connected(other)
    platforms.bench.reply("one")

    assert await platforms.sent() == []
    assert other.texts("c1") == ["one"]
    assert len(platforms.push.senders) == 1


@pytest.mark.req("J18")
def test_a_platform_without_a_sender_is_woken_in_vain_and_has_no_open_breaker() -> None:
    time = ManualTime()
    push = PushPlatforms(Bench().store, timing=OutboxTiming(), clock=time, signals=Signals())

    push.wake("memory")

    assert push.breaker_of("memory") is None
