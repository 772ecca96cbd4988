"""Replies that must carry the handle of the message they answer: counted, in time, or not sent."""

import pytest

from hermes.errors import DeliveryUnknown, FailureClass, NotDelivered
from hermes.message.event import ReplyHandle
from hermes.testing.manual_time import settle

HANDLE = ReplyHandle(token="t-1")
LIMITED = ReplyHandle(token="t-1", uses=2)
DOWN = NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)
LOST = DeliveryUnknown("lost", FailureClass.NETWORK_TIMEOUT)
THREE = "one one one\n\ntwo two two\n\nthree three"


def reasons(bench, name: str) -> list[tuple[str, str, bool]]:
    return [(note.then, note.why, note.tried) for note in bench.row(name).story]


@pytest.mark.req("A28")
async def test_a_reply_carries_the_handle_of_its_message(bench) -> None:
    bench.platform(reply_s=60.0)
    bench.reply("d1", "hello", handle=HANDLE)
    bench.reply("d2", "unasked", chat="c2")

    await bench.start()

    posts = bench.channel.posts.values()
    assert [(post.text, post.handle) for post in posts] == [("hello", HANDLE), ("unasked", None)]


@pytest.mark.req("A28")
async def test_a_platform_without_reply_windows_gets_no_handle(bench) -> None:
    bench.reply("d1", "hello", handle=HANDLE)

    await bench.start()

    assert [post.handle for post in bench.channel.posts.values()] == [None]


@pytest.mark.req("A28")
async def test_a_reply_past_its_window_is_a_dead_letter_that_says_so(bench) -> None:
    bench.platform(reply_s=60.0)
    bench.reply("d1", "hello", handle=HANDLE)
    bench.time.advance(75.0)

    await bench.start()

    row = bench.row("d1")
    assert (row.state, row.failure, row.failed) == ("dead", "reply_closed", 0)
    assert reasons(bench, "d1") == [
        ("dead", "memory: a message can be answered for 60 s, and this is 75 s after it", False)
    ]
    assert bench.channel.calls == []


@pytest.mark.req("A28")
async def test_the_end_in_the_handle_counts_before_that_of_the_manifest(bench) -> None:
    bench.platform(reply_s=60.0)
    until = bench.time.now() + 10.0
    bench.reply("d1", "hello", handle=ReplyHandle(token="t", until=until))
    bench.time.advance(11.0)

    await bench.start()

    assert (bench.row("d1").state, bench.row("d1").failure) == ("dead", "reply_closed")


@pytest.mark.req("A28")
async def test_the_messages_of_a_reply_use_a_handle_up(bench) -> None:
    bench.platform(replies=5, max_chars=40)
    bench.reply("d1", THREE, handle=LIMITED)

    await bench.start()
    await settle()

    assert bench.channel.texts("c1") == ["one one one", "two two two"]
    assert (bench.row("d1").state, bench.row("d1").failure) == ("dead", "reply_closed")
    assert reasons(bench, "d1")[-1] == (
        "dead",
        "memory: a message can be answered 2 times, and it was",
        False,
    )


@pytest.mark.req("A28", "J17")
async def test_a_retry_is_the_same_use(bench) -> None:
    bench.platform(replies=1, key_window_s=3600.0)
    bench.reply("d1", "hello", handle=HANDLE)
    bench.channel.fail("send", DOWN, LOST)

    await bench.start()
    for _ in range(4):
        await bench.time.pass_by(5.0)

    assert bench.channel.texts("c1") == ["hello"]
    assert bench.row("d1").state == "sent"


@pytest.mark.req("A28")
async def test_where_the_platform_allows_it_a_late_reply_is_sent_without_its_handle(bench) -> None:
    bench.platform(reply_s=60.0, reply_late="plain")
    bench.reply("d1", "hello", handle=HANDLE)
    bench.time.advance(75.0)

    await bench.start()

    assert [(post.text, post.handle) for post in bench.channel.posts.values()] == [("hello", None)]
    assert bench.row("d1").state == "sent"


@pytest.mark.req("A28", "J17")
async def test_a_lost_reply_whose_window_has_closed_is_left_to_the_operator(bench) -> None:
    bench.platform(reply_s=8.0, key_window_s=3600.0)
    bench.reply("d1", "hello", handle=HANDLE)
    bench.channel.fail("send", LOST, LOST, LOST, LOST, LOST)

    await bench.start()
    for _ in range(4):
        await bench.time.pass_by(9.0)

    assert bench.row("d1").state == "unknown"
    assert bench.store.is_held("d1")
    assert reasons(bench, "d1")[-1][0] == "held"


def test_the_token_of_a_handle_is_not_shown() -> None:
    assert "t-1" not in repr(HANDLE)
