"""The numbers of the overview: shares of answers by time, and steps in which nothing happened."""

import pytest

from hermes.control.overview import (
    Attention,
    OverviewPoint,
    attention_of_status,
    points_of,
    quantile,
)
from hermes.control.status import ChannelStatus, MemoryStatus, StatusReport, StoreStatus
from hermes.message.outcome import Outcome
from hermes.ports.activity import NOT_TIMED, TurnCount, seconds_of, slowness_of
from hermes.ports.spend import KillSwitch


def count(
    at: int = 0,
    *,
    outcome: Outcome = Outcome.ANSWERED,
    seconds: float | None = 1.0,
    turns: int = 1,
    cost_usd: float = 0.5,
    unpriced: int = 0,
) -> TurnCount:
    return TurnCount(
        at=at,
        outcome=outcome,
        slowness=NOT_TIMED if seconds is None else slowness_of(seconds),
        turns=turns,
        messages=turns,
        tokens=10 * turns,
        cost_usd=cost_usd,
        unpriced=unpriced,
    )


@pytest.mark.parametrize("seconds", [0.002, 0.05, 0.4, 1.0, 7.3, 90.0, 3_000.0])
def test_a_class_gives_the_time_back_almost(seconds: float) -> None:
    assert seconds_of(slowness_of(seconds)) == pytest.approx(seconds, rel=0.1)


def test_a_time_of_nothing_and_one_of_ages_have_a_class() -> None:
    assert (slowness_of(0.0), slowness_of(1e12)) == (0, 100)


def test_the_slowest_few_decide_the_high_share_only() -> None:
    counts = [
        count(seconds=1.0, turns=94),
        count(seconds=60.0, turns=6),
        count(seconds=None, turns=900),
    ]

    assert quantile(counts, 0.5) == pytest.approx(1.0, rel=0.1)
    assert quantile(counts, 0.95) == pytest.approx(60.0, rel=0.1)
    assert quantile([count(seconds=None)], 0.5) is None
    assert quantile([], 0.95) is None


def test_a_step_without_a_turn_is_a_point_and_an_unknown_price_is_not_free() -> None:
    counts = [
        count(0, outcome=Outcome.FAILED, seconds=None),
        count(0, turns=2),
        count(600, cost_usd=0.0, unpriced=7),
    ]

    first, second, third = points_of(counts, first=0, last=899, step=300)

    assert (first.turns, first.errors, first.messages, first.tokens, first.cost_usd) == (
        3,
        1,
        3,
        30,
        1.0,
    )
    assert second == OverviewPoint(at=300)
    assert (third.at, third.turns, third.cost_usd) == (600, 1, None)


def test_what_is_wrong_with_the_process_needs_attention() -> None:
    status = StatusReport(
        running=True,
        state="connected",
        home="/h",
        version="1",
        kill_switch=KillSwitch(is_on=True, reason="too dear"),
        store=StoreStatus(writable=False, problem="the disk is full"),
        memory=MemoryStatus(recall="on", learning="on", parked_jobs=2),
        hooks_off=("greeter",),
        channels=(
            ChannelStatus(name="telegram", state="fatal", note="the token was revoked"),
            ChannelStatus(name="slack", state="connected", deaf=True),
            ChannelStatus(name="email", state="connected", rests_until=9.0, failures=5),
            ChannelStatus(name="matrix", state="connected"),
        ),
    )

    assert attention_of_status(status) == [
        Attention(kind="channel", subject="telegram", note="the token was revoked"),
        Attention(kind="channel", subject="slack"),
        Attention(kind="resting_channel", subject="email", count=5),
        Attention(kind="store", note="the disk is full"),
        Attention(kind="kill_switch", note="too dear"),
        Attention(kind="parked_work", count=2),
        Attention(kind="hook_off", subject="greeter"),
    ]
