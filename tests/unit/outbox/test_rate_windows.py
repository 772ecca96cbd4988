"""Limits of messages in a time: never more than so many, also across a restart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.outbox.rates import RateGate, Rates
from hermes.ports.channel import Capabilities, Target
from hermes.ports.channel_rows import RateRow
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel

CHATS = ("c1", "c2", "c3")
ROWS = (
    RateRow(scope="chat", most=2, within_s=5.0),
    RateRow(scope="platform", most=4, within_s=3.0),
)


def gate(clock: ManualClock, *rows: RateRow) -> RateGate:
    able = Capabilities(delivery="push", rates=rows or ROWS)
    return Rates(clock).of(MemoryChannel(able))


def to(chat: str) -> Target:
    return Target(platform="memory", account="a", chat_id=chat)


def most_in(times: list[float], within_s: float) -> int:
    """Return how many of the times are at most this far apart, at the fullest moment."""
    return max(sum(at <= other < at + within_s for other in times) for at in times)


@pytest.mark.req("A28")
@given(
    sends=st.lists(
        st.tuples(st.sampled_from(CHATS), st.floats(0, 2, allow_nan=False)),
        min_size=1,
        max_size=60,
    )
)
def test_no_window_is_ever_overfull(sends: list[tuple[str, float]]) -> None:
    clock = ManualClock()
    rates, slots = gate(clock), []
    for chat, pause in sends:
        clock.advance(pause)
        wait = rates.take(to(chat))
        slots.append((chat, round(clock.monotonic() + wait, 6)))

    for chat in {chat for chat, _ in slots}:
        assert most_in([at for one, at in slots if one == chat], 5.0 - 1e-5) <= 2
    assert most_in([at for _, at in slots], 3.0 - 1e-5) <= 4


@pytest.mark.req("A28")
def test_a_full_chat_waits_and_others_do_not() -> None:
    clock = ManualClock()
    rates = gate(clock, RateRow(scope="chat", most=2, within_s=5.0))
    rates.take(to("c1"))
    clock.advance(1.0)
    rates.take(to("c1"))

    assert (rates.wait_s(to("c1")), rates.wait_s(to("c2"))) == (4.0, 0.0)
    clock.advance(4.0)
    assert rates.wait_s(to("c1")) == 0.0


@pytest.mark.req("A28")
async def test_what_an_earlier_process_has_sent_counts(bench) -> None:
    bench.platform(rates=(RateRow(scope="chat", most=2, within_s=60.0),))
    bench.reply("one")
    bench.reply("two")
    await bench.start()
    await bench.time.pass_by(1.0)

    bench.reply("three")
    await bench.crash()
    await bench.time.pass_by(50.0)
    assert bench.channel.texts("c1") == ["one", "two"]

    await bench.time.pass_by(20.0)
    assert bench.channel.texts("c1") == ["one", "two", "three"]
