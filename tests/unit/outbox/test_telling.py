"""What is noted of a delivery: every send that failed, with its reason and what followed."""

import pytest

from hermes.control.why_delivery import attempts_of, then_text
from hermes.errors import DeliveryError, DeliveryRejected, FailureClass, NotDelivered
from hermes.outbox.backoff import Again, Dead
from hermes.outbox.delivery_notes import failed_note
from hermes.ports.outbox import DeliveryRecord
from hermes.testing.manual_time import settle

DOWN = NotDelivered(
    "memory: it failed (500); it is sent again later", FailureClass.SERVICE_UNAVAILABLE
)
GONE = DeliveryRejected("memory: no such chat (404); replay it", FailureClass.INVALID_RECIPIENT)
REVOKED = DeliveryRejected(
    "memory: the token is not good (401)", FailureClass.UNAUTHORIZED, credential=True
)
HOUR = 3600.0


def told(row: DeliveryRecord) -> list[tuple[str, str, bool]]:
    return [(note.failure, note.then, note.tried) for note in row.story]


@pytest.mark.req("A26", "A28")
async def test_retries_in_place_and_later_are_noted_with_their_times(bench) -> None:
    bench.channel.fail("send", *[DOWN] * 4)
    bench.reply("slow")
    await bench.start()
    await bench.time.pass_by(13.0)

    row = bench.row("slow")

    again = ("service_unavailable", "again", True)
    assert told(row) == [again, again, again, ("service_unavailable", "later", True)]
    assert [note.until - note.at for note in row.story] == [1.0, 3.0, 9.0, 60.0]
    assert {note.why for note in row.story} == {"memory: it failed (500)"}
    assert then_text(row.story[-1]).startswith("waits until ")
    assert (attempts_of(row), row.attempts) == (4, 1)

    await bench.time.pass_by(60.0)

    row = bench.row("slow")
    assert (row.state, attempts_of(row), row.ended_at) == ("sent", 5, bench.time.now())


@pytest.mark.req("A28")
async def test_a_reply_that_goes_through_at_once_has_no_story(bench) -> None:
    bench.reply("easy")

    await bench.start()

    row = bench.row("easy")
    assert (row.state, row.failed, row.story, attempts_of(row)) == ("sent", 0, (), 1)


@pytest.mark.req("A28")
async def test_a_refusal_is_noted_whole_with_what_to_do(bench) -> None:
    bench.channel.fail("send", GONE)
    bench.reply("refused")

    await bench.start()

    row = bench.row("refused")
    assert told(row) == [("invalid_recipient", "dead", True)]
    assert row.story[0].why == str(GONE)
    assert attempts_of(row) == 1


@pytest.mark.req("J17")
@pytest.mark.parametrize(
    ("able", "how", "attempts"),
    [
        ({}, "repeated", 2),
        ({"key_window_s": HOUR}, "resent", 2),
        ({"history": True, "history_whole": True}, "found", 1),
    ],
)
async def test_a_send_whose_answer_was_lost_says_how_it_was_settled(
    bench, able, how: str, attempts: int
) -> None:
    bench.platform(**able)
    bench.channel.lose_answers("send", 1)
    bench.reply("lost")
    await bench.start()
    await bench.time.pass_by(10.0)

    row = bench.row("lost")

    assert row.state == "sent"
    assert told(row)[0] == ("network_timeout", "unknown", True)
    assert [then for _, then, tried in told(row)[1:] if not tried] == [how]
    assert attempts_of(row) == attempts


@pytest.mark.req("J16", "J17")
async def test_a_send_that_was_cut_off_by_a_crash_is_noted(bench) -> None:
    bench.channel.hold("c1")
    bench.reply("cut")
    await bench.start()

    await bench.crash()

    assert told(bench.row("cut"))[0] == ("network_timeout", "unknown", True)


@pytest.mark.req("J18")
async def test_a_reply_that_is_too_old_says_so_without_an_attempt(bench) -> None:
    bench.reply("old")
    bench.time.advance(HOUR)

    await bench.start()

    assert told(bench.row("old")) == [("too_old", "dead", False)]
    assert attempts_of(bench.row("old")) == 0


@pytest.mark.req("W2", "J18", "A28")
async def test_under_a_refused_credential_replies_wait_and_use_up_nothing(bench) -> None:
    bench.channel.fail("send", *[REVOKED] * 2)
    bench.reply("one")
    bench.reply("two", chat="c2")
    sender = await bench.start()
    await settle()

    assert bench.states("one", "two") == ["retry", "retry"]
    assert told(bench.row("one")) == [("unauthorized", "waits", True)]
    assert sender.breaker.open_until is None
    calls = len(bench.channel.calls)
    await bench.time.pass_by(9.0)
    assert len(bench.channel.calls) == calls

    sender.use(bench.channel)
    sender.wake()
    await settle()

    assert bench.states("one", "two") == ["sent", "sent"]
    assert [bench.row(name).attempts for name in ("one", "two")] == [0, 0]


@pytest.mark.req("A28")
def test_a_reason_is_bounded_and_without_secrets(record) -> None:
    error = NotDelivered(
        f"memory: it said (token=hush {'x' * 500})\nand more", FailureClass.SERVICE_UNAVAILABLE
    )

    note = failed_note(
        record(),
        error,
        action=Again(at=2.0, failure="x", counts=False),
        now=1.0,
        mask=lambda text: text.replace("hush", "****"),
    )

    assert note.why.startswith("memory: it said (token=**** xxx")
    assert len(note.why) == 240


@pytest.mark.req("A28")
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (DOWN, "memory: it failed (500)"),
        (NotDelivered("m: no (a; b)", FailureClass.RATE_LIMITED), "m: no (a; b)"),
        (GONE, str(GONE)),
    ],
)
def test_advice_stands_only_where_somebody_has_to_act(
    record, error: DeliveryError, why: str
) -> None:
    note = failed_note(record(), error, action=Dead(error.failure), now=1.0, mask=str)

    assert note.why == why
