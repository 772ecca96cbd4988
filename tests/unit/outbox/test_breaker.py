"""The circuit breaker."""

import pytest

from hermes.outbox.breaker import Breaker, BreakerGate, Pass
from hermes.outbox.intervals import OutboxTiming


def fail(gate: BreakerGate, times: int, *, start: float = 0.0, every: float = 1.0) -> None:
    for number in range(times):
        now = start + number * every
        entry = gate.enter(now)
        assert entry is not None
        gate.leave(entry, now, failed=True)


@pytest.fixture
def gate() -> BreakerGate:
    return BreakerGate(OutboxTiming())


@pytest.mark.req("A27")
def test_ten_failures_in_a_row_open_it_for_two_minutes(gate: BreakerGate) -> None:
    fail(gate, 9)
    assert gate.state.open_until is None

    fail(gate, 1, start=9.0)

    assert gate.state == Breaker(opened_at=9.0, open_until=129.0, count=10)
    assert gate.enter(128.9) is None


@pytest.mark.req("A27")
def test_a_success_in_between_starts_the_count_again(gate: BreakerGate) -> None:
    fail(gate, 9)
    gate.leave(Pass(trial=False), 9.0, failed=False)

    fail(gate, 9, start=10.0)

    assert gate.state.open_until is None


@pytest.mark.req("A27")
def test_failures_spread_over_more_than_five_minutes_do_not_open_it(gate: BreakerGate) -> None:
    fail(gate, 20, every=40.0)

    assert gate.state.open_until is None


@pytest.mark.req("A27")
def test_after_two_minutes_one_trial_passes_and_its_success_closes_it(gate: BreakerGate) -> None:
    fail(gate, 10)

    trial = gate.enter(129.0)

    assert trial == Pass(trial=True)
    assert gate.enter(129.0) is None
    gate.leave(trial, 130.0, failed=False)
    assert gate.state == Breaker()


@pytest.mark.req("A27")
def test_a_failed_trial_opens_it_again(gate: BreakerGate) -> None:
    fail(gate, 10)

    trial = gate.enter(129.0)
    assert trial is not None
    gate.leave(trial, 130.0, failed=True)

    assert gate.state == Breaker(opened_at=130.0, open_until=250.0, count=11)


@pytest.mark.req("A27")
def test_a_trial_that_was_not_made_leaves_room_for_another(gate: BreakerGate) -> None:
    fail(gate, 10)
    trial = gate.enter(129.0)
    assert trial is not None

    gate.leave(trial, 129.0, failed=None)

    assert gate.enter(129.0) == Pass(trial=True)


@pytest.mark.req("A27")
def test_a_late_failure_of_an_earlier_call_does_not_extend_it(gate: BreakerGate) -> None:
    early = gate.enter(0.0)
    assert early is not None
    fail(gate, 10)

    gate.leave(early, 60.0, failed=True)

    assert gate.state == Breaker(opened_at=9.0, open_until=129.0, count=10)


@pytest.mark.req("A27", "J18")
def test_a_clock_that_is_set_back_does_not_keep_it_open(gate: BreakerGate) -> None:
    fail(gate, 10, start=90_000.0)
    assert gate.enter(90_010.0) is None

    assert gate.enter(3_600.0) == Pass(trial=True)
