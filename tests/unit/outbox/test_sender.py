"""The sender: order, side by side, retry, age, breaker, stop."""

import asyncio
from typing import Any

import pytest

from hermes.errors import DeliveryRejected, FailureClass, NotDelivered, StoreError
from hermes.outbox.intervals import OutboxTiming
from hermes.testing.manual_time import settle
from hermes.testing.outbox_store import MemoryOutboxStore

DOWN = NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)


@pytest.mark.req("J18")
async def test_replies_of_one_chat_leave_in_order(bench) -> None:
    for name in ("one", "two", "three"):
        bench.reply(name)

    await bench.start()

    assert bench.channel.texts("c1") == ["one", "two", "three"]
    assert bench.states("one", "two", "three") == ["sent"] * 3


@pytest.mark.req("J18")
async def test_a_slow_chat_does_not_hold_up_another(bench) -> None:
    bench.channel.hold("c1")
    bench.reply("slow")
    bench.reply("quick", chat="c2")

    await bench.start()

    assert bench.states("slow", "quick") == ["sending", "sent"]


@pytest.mark.req("J18")
async def test_only_so_many_chats_are_served_at_once(bench) -> None:
    for number in range(40):
        bench.channel.hold(f"c{number}")
        bench.reply(f"r{number}", chat=f"c{number}")

    sender = await bench.start()

    assert sender.in_flight == 32
    bench.channel.let_go("c0")
    await settle()
    assert (bench.states("r0"), sender.in_flight) == (["sent"], 32)


@pytest.mark.req("J18")
async def test_a_retrying_reply_holds_back_the_later_ones_of_its_chat(bench) -> None:
    bench.channel.fail("send", DOWN)
    bench.reply("first")
    bench.reply("second")
    await bench.start()
    assert bench.states("first", "second") == ["retry", "pending"]

    await bench.time.pass_by(1.0)

    assert bench.channel.texts("c1") == ["first", "second"]


@pytest.mark.req("A26", "A28")
async def test_four_series_of_four_tries_and_then_the_dead_letters(bench) -> None:
    bench.channel.fail("send", *[DOWN] * 16)
    bench.reply("doomed")
    bench.reply("next")
    await bench.start()

    await bench.time.pass_by(13.0)
    assert (bench.row("doomed").attempts, len(bench.channel.calls)) == (1, 4)

    await bench.time.pass_by(60.0 + 13.0 + 300.0 + 13.0 + 1500.0 + 13.0)

    assert len([call for call in bench.channel.calls if call[0] == "send"]) == 17
    assert (bench.row("doomed").state, bench.row("doomed").failure) == (
        "dead",
        "service_unavailable",
    )
    assert bench.channel.texts("c1") == ["next"]


@pytest.mark.req("A26")
async def test_a_final_refusal_is_dead_and_the_next_reply_goes_on(bench) -> None:
    bench.channel.fail("send", DeliveryRejected("gone", FailureClass.INVALID_RECIPIENT))
    bench.reply("refused")
    bench.reply("next")

    await bench.start()

    assert bench.states("refused", "next") == ["dead", "sent"]
    assert bench.row("refused").failure == "invalid_recipient"


@pytest.mark.req("J18")
async def test_a_reply_that_waited_past_its_age_is_dead_and_never_sent(bench) -> None:
    bench.reply("old")
    bench.time.advance(3600.0)
    bench.reply("fresh")

    await bench.start()

    assert (bench.row("old").state, bench.row("old").failure) == ("dead", "too_old")
    assert bench.channel.texts("c1") == ["fresh"]


@pytest.mark.req("A27", "J18")
async def test_an_open_breaker_stops_all_chats_and_uses_up_no_attempts(bench) -> None:
    bench.channel.fail("send", *[DOWN] * 10)
    for number in range(10):
        bench.reply(f"r{number}", chat=f"c{number}")
    sender = await bench.start()
    assert sender.breaker.open_until is not None
    bench.reply("later", chat="other")
    await settle()

    await bench.time.pass_by(119.0)
    assert len(bench.channel.calls) == 10
    assert [bench.row(f"r{number}").attempts for number in range(10)] == [0] * 10

    await bench.time.pass_by(2.0)

    assert bench.states("later", *(f"r{number}" for number in range(10))) == ["sent"] * 11
    assert sender.breaker.open_until is None


@pytest.mark.req("A27", "J18")
async def test_an_outage_is_tried_by_one_call_every_two_minutes(bench) -> None:
    bench.channel.fail("send", *[DOWN] * 13)
    for number in range(10):
        bench.reply(f"r{number}", chat=f"c{number}")
    await bench.start()

    await bench.time.pass_by(3 * 120.0)
    assert len(bench.channel.calls) == 13

    await bench.time.pass_by(121.0)

    assert bench.states(*(f"r{number}" for number in range(10))) == ["sent"] * 10


@pytest.mark.req("A27", "J18")
async def test_replies_die_of_age_while_the_breaker_is_open(bench) -> None:
    bench.timing = OutboxTiming(max_age_s=60.0)
    bench.channel.fail("send", *[DOWN] * 10)
    for number in range(10):
        bench.reply(f"r{number}", chat=f"c{number}")
    bench.reply("waiting", chat="other")
    await bench.start()

    await bench.time.pass_by(66.0)

    assert len(bench.channel.calls) == 10
    assert (bench.row("waiting").state, bench.row("waiting").failure) == ("dead", "too_old")


@pytest.mark.req("A27")
async def test_a_platform_that_says_no_is_not_down(bench) -> None:
    refused = DeliveryRejected("gone", FailureClass.INVALID_RECIPIENT)
    bench.channel.fail("send", *[refused] * 10)
    for number in range(11):
        bench.reply(f"r{number}")

    sender = await bench.start()

    assert (sender.breaker.open_until, bench.states("r10")) == (None, ["sent"])


@pytest.mark.req("A27", "J18")
async def test_replies_grow_old_behind_an_open_breaker(bench) -> None:
    bench.channel.fail("send", *[DOWN] * 60)
    for number in range(10):
        bench.reply(f"r{number}", chat=f"c{number}")
    await bench.start()

    await bench.time.pass_by(3605.0)

    assert set(bench.states(*(f"r{number}" for number in range(10)))) == {"dead"}


@pytest.mark.req("A26")
async def test_a_long_reply_leaves_in_chunks_and_goes_on_where_it_failed(bench) -> None:
    channel = bench.platform(max_chars=40)
    channel.fail("send", None, DOWN)
    bench.reply("long", "aaaa bbbb cccc dddd eeee ffff")
    await bench.start()
    assert (bench.row("long").state, bench.row("long").chunk) == ("retry", 1)

    await bench.time.pass_by(1.0)

    assert channel.texts("c1") == ["aaaa bbbb cccc dddd", "eeee ffff"]
    assert bench.states("long") == ["sent"]


@pytest.mark.req("J18")
async def test_a_crash_between_two_chunks_repeats_neither(bench) -> None:
    channel = bench.platform(max_chars=40)
    bench.reply("long", "aaaa bbbb cccc dddd eeee ffff")
    first = bench.row("long")
    await bench.store.sending(first.id, chunk=0, at=bench.time.now())
    await bench.store.chunk_sent(
        first.id, chunk=0, platform_message_id="x0", last=False, at=bench.time.now()
    )
    bench.store.recover()

    await bench.start()

    assert channel.texts("c1") == ["eeee ffff"]
    assert bench.states("long") == ["sent"]


@pytest.mark.req("J18")
async def test_stop_leaves_waiting_rows_for_the_next_start(bench) -> None:
    bench.channel.fail("send", DOWN)
    bench.reply("first")
    bench.reply("second")
    await bench.start()

    await bench.stop()

    assert bench.states("first", "second") == ["retry", "pending"]
    await bench.start()
    await bench.time.pass_by(1.0)
    assert bench.channel.texts("c1") == ["first", "second"]


@pytest.mark.req("J18")
async def test_drain_finishes_what_is_on_the_wire_and_takes_nothing_new(bench) -> None:
    bench.channel.hold("c1")
    bench.reply("first")
    bench.reply("second")
    sender = await bench.start()
    bench.channel.let_go("c1")

    await sender.drain()
    await settle()

    assert bench.states("first", "second") == ["sent", "pending"]


@pytest.mark.req("W3")
async def test_flush_sends_all_that_is_due_and_waits_for_nothing_else(bench) -> None:
    bench.channel.hold("c1")
    bench.reply("first")
    bench.reply("second")
    sender = await bench.start()
    bench.channel.let_go("c1")

    await sender.flush(20)

    assert bench.states("first", "second") == ["sent", "sent"]


@pytest.mark.req("J18")
async def test_nothing_is_sent_before_the_start(bench) -> None:
    bench.reply("early")
    await settle()
    assert bench.channel.calls == []

    await bench.start()

    assert bench.channel.calls == [("send", "c1")]


@pytest.mark.req("J24")
async def test_a_reply_of_which_nothing_is_left_is_dead(bench) -> None:
    bench.reply("erased", " ")
    bench.reply("next")

    await bench.start()

    assert bench.states("erased", "next") == ["dead", "sent"]


class SlowStore(MemoryOutboxStore):
    """A store whose mark before the wire call takes its time."""

    def __init__(self, clock) -> None:
        super().__init__(clock)
        self.ready = asyncio.Event()

    async def sending(
        self,
        delivery_id: str,
        *,
        chunk: int,
        at: float,
        is_stopped: bool = False,
        most: int | None = None,
        last: bool = False,
    ) -> None:
        await self.ready.wait()
        await super().sending(
            delivery_id, chunk=chunk, at=at, is_stopped=is_stopped, most=most, last=last
        )


@pytest.mark.req("J18")
async def test_a_wake_up_while_a_reply_is_being_marked_does_not_send_it_twice(bench) -> None:
    bench.store = SlowStore(bench.time)
    bench.channel.hold("c1")
    bench.reply("once")
    sender = await bench.start()
    sender.wake()
    await settle()

    bench.store.ready.set()
    await settle()
    bench.channel.let_go("c1")
    await settle()

    assert (bench.channel.calls, bench.states("once")) == ([("send", "c1")], ["sent"])


class BusyStore(MemoryOutboxStore):
    """A store that refuses to write down some deliveries."""

    refusals = 0

    async def chunk_sent(self, delivery_id: str, **written: Any) -> None:
        if self.refusals:
            self.refusals -= 1
            raise StoreError("the disk is busy")
        await super().chunk_sent(delivery_id, **written)


@pytest.mark.req("J16", "J18")
async def test_what_arrived_is_written_down_until_the_store_has_taken_it(bench) -> None:
    bench.store = BusyStore(bench.time)
    bench.store.refusals = 3
    bench.reply("r1")
    await bench.start()
    assert bench.states("r1") == ["sending"]

    await bench.time.pass_by(3 * bench.timing.store_pause_s)

    assert bench.states("r1") == ["sent"]
    assert bench.channel.texts("c1") == ["r1"]


@pytest.mark.req("J16", "A26")
async def test_a_reply_in_chunks_is_known_by_the_message_of_its_first(bench) -> None:
    channel = bench.platform(max_chars=40)
    bench.reply("long", "aaaa bbbb cccc dddd eeee ffff")

    await bench.start()

    assert len(channel.posts) == 2
    assert bench.row("long").platform_message_id == next(iter(channel.posts))


@pytest.mark.req("W27")
async def test_a_flush_waits_for_the_rate_limits_of_the_chat(bench) -> None:
    bench.platform(chat_gap_s=1.0)
    bench.reply("first")
    bench.reply("second")
    flushing = asyncio.create_task(bench.make_sender().flush(60.0))

    await bench.time.pass_by(0.9)
    assert bench.channel.texts("c1") == []
    await bench.time.pass_by(2.0)

    await flushing
    assert bench.channel.texts("c1") == ["first", "second"]


@pytest.mark.req("W27")
async def test_a_flush_leaves_a_retry_to_the_next_process(bench) -> None:
    bench.channel.fail("send", DOWN)
    bench.reply("refused")

    await bench.make_sender().flush(60.0)

    assert bench.states("refused") == ["retry"]
