"""What becomes of a delivery whose call failed, as a table."""

import pytest

from hermes.errors import DeliveryRejected, DeliveryUnknown, FailureClass, NotDelivered
from hermes.outbox.backoff import Again, Dead, FailedCall, Lost, decide, is_too_old, spread
from hermes.outbox.intervals import OutboxTiming

TIMING = OutboxTiming()
DOWN = NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)


def after(record, error, *, now=1000.0, tried=FailedCall(), **changes):  # noqa: B008
    return decide(record(**changes), error, now=now, tried=tried, timing=TIMING, chance=0.5)


@pytest.mark.req("A26")
@pytest.mark.parametrize(("tries", "delay"), [(0, 1.0), (1, 3.0), (2, 9.0)])
def test_a_series_waits_1_3_and_9_seconds_and_uses_up_no_attempt(record, tries, delay) -> None:
    action = after(record, DOWN, tried=FailedCall(tries=tries))

    assert action == Again(at=1000.0 + delay, failure="service_unavailable", counts=False)


@pytest.mark.req("A28")
@pytest.mark.parametrize(("attempts", "delay"), [(0, 60.0), (1, 300.0), (2, 1500.0)])
def test_after_a_series_it_waits_1_5_and_25_minutes(record, attempts, delay) -> None:
    action = after(record, DOWN, tried=FailedCall(tries=3), attempts=attempts)

    assert action == Again(at=1000.0 + delay, failure="service_unavailable", counts=True)


@pytest.mark.req("A28")
def test_after_the_last_series_it_is_dead_with_its_class(record) -> None:
    limited = NotDelivered("slow down", FailureClass.RATE_LIMITED)

    assert after(record, limited, tried=FailedCall(tries=3), attempts=3) == Dead("rate_limited")


@pytest.mark.req("A26")
def test_the_platforms_retry_after_is_honoured(record) -> None:
    limited = NotDelivered("slow down", FailureClass.RATE_LIMITED, retry_after=42.0)

    assert after(record, limited) == Again(at=1042.0, failure="rate_limited", counts=False)


@pytest.mark.req("A26", "J18")
def test_a_retry_that_would_come_after_the_age_limit_is_not_made(record) -> None:
    limited = NotDelivered("slow down", FailureClass.RATE_LIMITED, retry_after=4000.0)

    assert after(record, limited) == Dead("rate_limited")


@pytest.mark.req("A26")
def test_a_final_refusal_is_dead_at_once(record) -> None:
    refused = DeliveryRejected("who?", FailureClass.INVALID_RECIPIENT)

    assert after(record, refused) == Dead("invalid_recipient")


@pytest.mark.req("A26", "J17")
def test_a_lost_answer_is_unknown_and_a_connect_failure_never_is(record) -> None:
    lost = DeliveryUnknown("no answer", FailureClass.NETWORK_TIMEOUT)

    assert after(record, lost) == Lost()
    assert isinstance(after(record, DOWN), Again)


@pytest.mark.req("J16")
def test_a_lost_answer_to_an_edit_is_tried_again(record) -> None:
    lost = DeliveryUnknown("no answer", FailureClass.NETWORK_TIMEOUT)

    action = after(record, lost, tried=FailedCall(editing=True), platform_message_id="x1")

    assert action == Again(at=1001.0, failure="network_timeout", counts=False)


@pytest.mark.req("J18")
def test_the_trial_of_an_open_breaker_uses_up_nothing(record) -> None:
    tried = FailedCall(tries=3, trial=True, open_until=1120.0)

    action = after(record, DOWN, tried=tried, attempts=3)

    assert action == Again(at=1120.0, failure="service_unavailable", counts=False)


@pytest.mark.req("J17")
def test_the_mark_of_a_possible_repeat_survives_a_retry(record) -> None:
    action = after(record, DOWN, failure="possible_repeat")

    assert action == Again(at=1001.0, failure="possible_repeat", counts=False)


@pytest.mark.req("J18")
def test_age_counts_from_the_commit(record) -> None:
    row = record(created_at=1000.0)

    assert not is_too_old(row, 4599.9, timing=TIMING)
    assert is_too_old(row, 4600.0, timing=TIMING)


@pytest.mark.req("A26")
def test_jitter_moves_a_delay_both_ways() -> None:
    assert (spread(8.0, 0.0, jitter=0.25), spread(8.0, 0.5, jitter=0.25)) == (6.0, 8.0)
    assert spread(8.0, 0.999, jitter=0.25) == pytest.approx(10.0, abs=0.01)
