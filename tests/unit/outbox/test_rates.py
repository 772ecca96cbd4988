"""Rates: so many a second in all, so far apart in one chat, slower when the platform says so."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.errors import FailureClass, NotDelivered
from hermes.outbox.rates import Limits, RateGate, SendTimes, after_slot, limits_of
from hermes.ports.channel import Capabilities, Target
from hermes.ports.outbox import DeliveryRecord
from hermes.testing.manual_time import ManualClock, settle
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.outbox_store import MemoryOutboxStore

DM = Target(platform="memory", account="a", chat_id="c1")
GROUP = Target(platform="memory", account="a", chat_id="g1", group=True)


def flood(retry_after: float | None, *, platform_wide: bool = False) -> NotDelivered:
    return NotDelivered(
        "slow down",
        FailureClass.RATE_LIMITED,
        retry_after=retry_after,
        platform_wide=platform_wide,
    )


class Timed(MemoryChannel):
    """A platform that notes when each message came."""

    def __init__(self, bench, **capabilities: object) -> None:
        super().__init__(Capabilities(delivery="push", **capabilities))  # type: ignore[arg-type]
        self._time = bench.time
        self._began = bench.time.now()
        self.came: list[tuple[float, str]] = []
        bench.channel = self

    async def send(self, delivery):
        at = round(self._time.now() - self._began, 3)
        self.came.append((at, delivery.target.chat_id))
        return await super().send(delivery)


class CountingStore(MemoryOutboxStore):
    """A store that counts how often it is asked for work."""

    asked = 0

    async def due(
        self, platform: str, now: float, *, limit: int, at_most_s: float = 1e9
    ) -> tuple[DeliveryRecord, ...]:
        self.asked += 1
        return await super().due(platform, now, limit=limit, at_most_s=at_most_s)


@pytest.mark.req("A28", "W10")
def test_the_manifests_numbers_become_gaps() -> None:
    telegram = Capabilities(delivery="push", per_second=30, chat_gap_s=1, group_gap_s=3)
    limits = limits_of(telegram)

    assert (limits.gap_s, limits.chat_gap(DM), limits.chat_gap(GROUP)) == (1 / 30, 1.0, 3.0)
    assert limits_of(Capabilities(delivery="push")) == Limits()
    without = limits_of(Capabilities(delivery="push", chat_gap_s=2.0))
    assert without.chat_gap(GROUP) == 2.0


@pytest.mark.req("A28")
def test_a_chat_that_waits_does_not_use_up_the_platforms_next_slots() -> None:
    before = SendTimes(platform_at=10.0, chat_at=13.0)

    after = after_slot(before, 9.0, gap_s=0.5, chat_gap_s=1.0)

    assert after == SendTimes(platform_at=10.5, chat_at=14.0)


@pytest.mark.req("A28")
@given(
    waits=st.lists(st.floats(min_value=0, max_value=0.3), min_size=2, max_size=60),
    per_second=st.sampled_from([1.0, 4.0, 30.0]),
)
def test_no_second_ever_holds_more_than_it_may(waits: list[float], per_second: float) -> None:
    clock = ManualClock()
    gate = RateGate(limits_of(Capabilities(delivery="push", per_second=per_second)), clock)
    slots = []
    for wait in waits:
        clock.advance(wait)
        slots.append(clock.monotonic() + gate.take(DM))

    apart = [later - earlier for earlier, later in pairwise(slots)]
    assert min(apart) >= 1 / per_second - 1e-6


@pytest.mark.req("A28")
async def test_messages_to_one_chat_are_apart_and_others_do_not_wait(bench) -> None:
    channel = Timed(bench, chat_gap_s=1.0)
    for name in ("one", "two", "three"):
        bench.reply(name)
    bench.reply("other", chat="c2")
    await bench.start()

    await bench.time.pass_by(10.0)

    assert channel.came == [(1.0, "c1"), (1.0, "c2"), (2.0, "c1"), (3.0, "c1")]
    assert channel.texts("c1") == ["one", "two", "three"]


@pytest.mark.req("A28")
async def test_the_chunks_of_one_reply_are_apart_too(bench) -> None:
    channel = Timed(bench, chat_gap_s=1.0, max_chars=40)
    bench.reply("long", "aaaa bbbb cccc dddd eeee ffff")
    await bench.start()

    await bench.time.pass_by(10.0)

    assert [at for at, _ in channel.came] == [1.0, 2.0]
    assert bench.states("long") == ["sent"]


@pytest.mark.req("A28")
async def test_a_platforms_messages_a_second_are_shared_by_its_chats(bench) -> None:
    channel = Timed(bench, per_second=4.0)
    for number in range(12):
        bench.reply(f"r{number}", chat=f"c{number}")
    await bench.start()

    await bench.time.pass_by(10.0)

    assert [at for at, _ in channel.came] == [0.25 * n for n in range(1, 13)]
    assert [chat for _, chat in channel.came] == [f"c{number}" for number in range(12)]


@pytest.mark.req("A28")
async def test_a_restart_adds_no_burst(bench) -> None:
    channel = Timed(bench, per_second=2.0, chat_gap_s=3.0)
    bench.reply("before")
    await bench.start()
    await bench.time.pass_by(3.0)
    bench.reply("after")
    bench.reply("other", chat="c2")

    await bench.crash()
    await bench.time.pass_by(10.0)

    assert channel.came == [(3.0, "c1"), (6.0, "c1"), (6.5, "c2")]


@pytest.mark.req("A28", "A26")
async def test_too_many_slows_the_chat_that_it_is_said_of(bench) -> None:
    channel = Timed(bench)
    channel.fail("send", flood(20.0))
    bench.reply("first")
    await bench.start()
    bench.reply("second")
    bench.reply("other", chat="c2")
    await bench.time.pass_by(19.0)
    assert channel.came == [(0.0, "c1"), (0.0, "c2")]

    await bench.time.pass_by(2.0)

    assert channel.came[2:] == [(20.0, "c1"), (20.0, "c1")]
    assert channel.texts("c1") == ["first", "second"]


@pytest.mark.req("A28", "A26")
async def test_too_many_slows_the_whole_platform_where_it_says_so(bench) -> None:
    channel = Timed(bench)
    channel.fail("send", flood(20.0, platform_wide=True))
    bench.reply("first")
    await bench.start()
    bench.reply("other", chat="c2")
    await bench.time.pass_by(19.0)
    assert channel.came == [(0.0, "c1")]

    await bench.time.pass_by(2.0)

    assert sorted(channel.came[1:]) == [(20.0, "c1"), (20.0, "c2")]


@pytest.mark.req("A28")
async def test_who_waits_for_a_slot_while_the_platform_is_told_to_slow_down_waits_on(bench) -> None:
    channel = Timed(bench, per_second=2.0)
    channel.fail("send", flood(30.0, platform_wide=True))
    bench.reply("first")
    bench.reply("other", chat="c2")
    await bench.start()

    await bench.time.pass_by(29.0)
    assert channel.came == [(0.5, "c1")]

    await bench.time.pass_by(5.0)
    assert sorted(chat for _, chat in channel.came[1:]) == ["c1", "c2"]
    assert min(at for at, _ in channel.came[1:]) >= 30.5


@pytest.mark.req("A28")
async def test_waiting_for_a_slot_costs_no_passes(bench) -> None:
    Timed(bench, chat_gap_s=60.0)
    bench.store = CountingStore(bench.time)
    bench.reply("one")
    bench.reply("two")
    await bench.start()

    await bench.time.pass_by(60.0)

    # One look at the start, one every five seconds, and one more where something was sent.
    assert bench.store.asked <= 16


@pytest.mark.req("A28")
async def test_chats_that_must_wait_do_not_hide_those_behind_them(bench) -> None:
    channel = Timed(bench, chat_gap_s=60.0)
    await bench.start()
    await bench.time.pass_by(60.0)
    for number in range(40):
        bench.reply(f"a{number}", chat=f"c{number}")
    await bench.time.pass_by(1.0)
    for number in range(40):
        bench.reply(f"b{number}", chat=f"c{number}")
    bench.reply("late", chat="fresh")
    await settle()

    assert channel.came[-1][1] == "fresh"


@pytest.mark.req("A28", "J18")
async def test_a_reply_grows_old_while_its_chat_must_wait(bench) -> None:
    channel = Timed(bench)
    channel.fail("send", flood(9999.0))
    bench.reply("first")
    await bench.start()
    bench.reply("second")

    await bench.time.pass_by(3610.0)

    assert bench.states("first", "second") == ["dead", "dead"]
    assert bench.row("second").failure == "too_old"
    assert len(channel.came) == 1


@pytest.mark.req("A28")
def test_chats_are_forgotten_once_their_time_has_come() -> None:
    clock = ManualClock()
    gate = RateGate(Limits(chat_gap_s=1.0), clock)
    for number in range(1000):
        clock.advance(0.5)
        gate.take(Target(platform="m", account="a", chat_id=f"c{number}"))

    assert gate.blocked() <= 64
