"""Sends whose answer was lost, by what the platform can do."""

import pytest

from hermes.errors import FailureClass, NotDelivered
from hermes.outbox.intervals import OutboxTiming

DOWN = NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)
HOUR = 3600.0


@pytest.mark.req("J17", "A26")
async def test_with_a_key_the_reply_arrives_exactly_once(bench) -> None:
    channel = bench.platform(key_window_s=HOUR)
    channel.lose_answers("send", 3)
    bench.reply("once")
    await bench.start()
    assert bench.states("once") == ["unknown"]

    await bench.time.pass_by(20.0)

    assert (channel.texts("c1"), bench.states("once")) == (["once"], ["sent"])


@pytest.mark.req("J17")
async def test_with_a_key_a_crash_on_the_wire_repeats_nothing(bench) -> None:
    channel = bench.platform(key_window_s=HOUR)
    channel.lose_answers("send", 1)
    bench.reply("once")
    await bench.start()

    await bench.crash()
    await bench.time.pass_by(5.0)

    assert (channel.texts("c1"), bench.states("once")) == (["once"], ["sent"])


@pytest.mark.req("J17")
async def test_a_failed_resend_leaves_it_unknown_and_is_tried_again(bench) -> None:
    channel = bench.platform(key_window_s=HOUR)
    channel.lose_answers("send", 1)
    bench.reply("once")
    await bench.start()
    channel.fail("send", DOWN)

    await bench.time.pass_by(1.5)
    assert bench.states("once") == ["unknown"]
    await bench.time.pass_by(5.0)

    assert (channel.texts("c1"), bench.states("once")) == (["once"], ["sent"])


@pytest.mark.req("J17")
async def test_with_history_what_arrived_is_found(bench) -> None:
    channel = bench.platform(history=True)
    channel.lose_answers("send", 1)
    bench.reply("found")
    await bench.start()

    await bench.time.pass_by(10.0)

    assert (channel.texts("c1"), bench.states("found")) == (["found"], ["sent"])
    assert bench.row("found").platform_message_id == "x1"


@pytest.mark.req("J17")
async def test_with_history_what_did_not_arrive_is_sent(bench) -> None:
    channel = bench.platform(history=True)
    bench.reply("missing")
    await bench.store.sending("missing", chunk=0, at=bench.time.now())
    bench.store.recover()

    await bench.start()
    await bench.time.pass_by(10.0)

    assert (channel.texts("c1"), bench.states("missing")) == (["missing"], ["sent"])


@pytest.mark.req("J17")
async def test_a_history_with_holes_proves_only_what_is_in_it(bench) -> None:
    channel = bench.platform(history=True, history_whole=False)
    channel.lose_answers("send", 1)
    bench.reply("found")
    bench.reply("missing", chat="c2")
    await bench.store.sending("missing", chunk=0, at=bench.time.now())
    bench.store.recover()

    await bench.start()
    await bench.time.pass_by(10.0)

    assert (channel.texts("c1"), bench.states("found")) == (["found"], ["sent"])
    assert channel.texts("c2") == ["(possibly a repeat) missing"]


@pytest.mark.req("J17")
async def test_a_history_that_cannot_be_read_is_read_later(bench) -> None:
    channel = bench.platform(history=True)
    channel.lose_answers("send", 1)
    channel.fail("find", DOWN)
    bench.reply("found")
    await bench.start()

    await bench.time.pass_by(5.0)
    assert bench.states("found") == ["unknown"]
    await bench.time.pass_by(60.0)

    assert (channel.texts("c1"), bench.states("found")) == (["found"], ["sent"])


@pytest.mark.req("J17")
async def test_otherwise_a_reply_is_sent_once_more_and_says_so(bench) -> None:
    bench.channel.lose_answers("send", 1)
    bench.reply("hello")
    await bench.start()

    await bench.time.pass_by(2.0)

    assert bench.channel.texts("c1") == ["hello", "(possibly a repeat) hello"]
    assert bench.states("hello") == ["sent"]


@pytest.mark.req("J17")
async def test_a_repeat_whose_answer_is_lost_too_is_left_to_the_operator(bench) -> None:
    bench.channel.lose_answers("send", 9)
    bench.reply("hello")
    await bench.start()

    await bench.time.pass_by(2 * HOUR)

    assert bench.channel.texts("c1") == ["hello", "(possibly a repeat) hello"]
    assert (bench.states("hello"), bench.store.is_held("hello")) == (["unknown"], True)


@pytest.mark.req("J17")
async def test_a_repeat_that_is_cut_off_by_a_crash_is_not_repeated_again(bench) -> None:
    bench.channel.lose_answers("send", 1)
    bench.reply("hello")
    await bench.start()
    bench.channel.hold("c1")
    await bench.time.pass_by(2.0)
    assert (bench.row("hello").state, bench.row("hello").failure) == ("sending", "possible_repeat")

    await bench.crash()
    bench.channel.let_go("c1")
    await bench.time.pass_by(60.0)

    assert (bench.states("hello"), bench.store.is_held("hello")) == (["unknown"], True)
    assert bench.channel.texts("c1") == ["hello"]


@pytest.mark.req("J17")
async def test_a_repeat_that_is_refused_for_now_keeps_its_mark(bench) -> None:
    bench.channel.lose_answers("send", 1)
    bench.reply("hello")
    await bench.start()
    bench.channel.fail("send", DOWN)

    await bench.time.pass_by(10.0)

    assert bench.channel.texts("c1") == ["hello", "(possibly a repeat) hello"]


@pytest.mark.req("J17")
async def test_a_tool_send_is_held_for_the_operator(bench) -> None:
    bench.channel.lose_answers("send", 1)
    bench.reply("order", purpose="tool")
    await bench.start()

    await bench.time.pass_by(2.0)

    assert (bench.states("order"), bench.store.is_held("order")) == (["unknown"], True)
    assert bench.channel.texts("c1") == ["order"]


@pytest.mark.req("J18")
async def test_an_unknown_reply_does_not_hold_back_the_next(bench) -> None:
    bench.channel.lose_answers("send", 1)
    bench.reply("lost", purpose="tool")
    bench.reply("next")

    await bench.start()

    assert bench.states("lost", "next") == ["unknown", "sent"]


@pytest.mark.req("J17")
async def test_a_fault_inside_a_channel_is_unknown_not_stuck(bench) -> None:
    bench.channel.fail("send", ValueError("a bug"))
    bench.reply("hello")
    await bench.start()

    await bench.time.pass_by(2.0)

    assert bench.channel.texts("c1") == ["(possibly a repeat) hello"]


@pytest.mark.req("J17")
async def test_only_the_unknown_chunk_is_marked(bench) -> None:
    channel = bench.platform(max_chars=40)
    channel.lose_answers("send", 1)
    bench.reply("long", "aaaa bbbb cccc dddd eeee ffff")
    await bench.start()

    await bench.time.pass_by(2.0)

    assert channel.texts("c1") == [
        "aaaa bbbb cccc dddd",
        "(possibly a repeat) aaaa bbbb cccc dddd",
        "eeee ffff",
    ]


@pytest.mark.req("J17")
async def test_no_more_are_looked_for_at_a_time_than_chats_are_served(bench) -> None:
    bench.timing = OutboxTiming(parallel_chats=1)
    channel = bench.platform(history=True)
    channel.lose_answers("send", 2)
    for chat in ("c1", "c2"):
        bench.reply(f"to {chat}", chat=chat)
    await bench.start()
    channel.stop_before("find", 0)

    await bench.time.pass_by(5.0)

    assert [verb for verb, *_ in channel.calls].count("find") == 1
