"""Which rounds of a measurement count: the machine's speed around them decides, nothing else."""

from collections.abc import Sequence

import pytest

from bench.calm import Rounds, cpu_numbers, ratio_number


def rounds_between(pieces: Sequence[float], measured: Sequence[str]) -> Rounds[str]:
    speeds = iter(pieces)
    rounds: Rounds[str] = Rounds(lambda: next(speeds))
    for name in measured:
        rounds.run(lambda name=name: name)  # type: ignore[misc]
    return rounds


@pytest.mark.parametrize(
    ("pieces", "counted", "share"),
    [
        ([10, 10, 11, 10], ["a", "b", "c"], 1),
        ([10, 20, 10, 10], ["c"], 1 / 3),
        ([20, 20, 10, 10], ["c"], 1 / 3),
        # Hardly ever fast: one calm round of four is luck.
        ([10, 10, 20, 20, 20], ["a", "b", "c", "d"], 1 / 4),
        # Never fast is not known: then all are alike.
        ([20, 20, 20, 20], ["a", "b", "c"], 1),
    ],
)
def test_a_round_counts_that_was_fast_before_and_after(
    pieces: list[float], counted: list[str], share: float
) -> None:
    rounds = rounds_between(pieces, "abcd"[: len(pieces) - 1])

    assert rounds.calm == counted
    assert rounds.calm_share == share


@pytest.mark.parametrize(
    ("pieces", "counted", "share"),
    [
        # A slow machine that stays slow is as good as a fast one.
        ([10, 10, 20, 20], [(10, "a"), (20, "c")], 2 / 3),
        ([10, 11, 20], [(10.5, "a")], 1 / 2),
        ([20, 10, 10], [(10, "b")], 1 / 2),
        # Never steady: all count.
        ([10, 20, 10], [(15, "a"), (15, "b")], 0),
    ],
)
def test_a_round_counts_for_the_ratio_if_the_machine_kept_its_speed(
    pieces: list[float], counted: list[tuple[float, str]], share: float
) -> None:
    rounds = rounds_between(pieces, "abc"[: len(pieces) - 1])

    assert rounds.steady == counted
    assert rounds.steady_share == share


def test_after_a_pause_a_round_has_a_piece_of_its_own_before_it() -> None:
    speeds = iter([10.0, 10.0, 30.0, 30.0])
    rounds: Rounds[str] = Rounds(lambda: next(speeds))

    rounds.run(lambda: "a")
    rounds.pause()
    rounds.run(lambda: "b")

    assert rounds.steady == [(10, "a"), (30, "b")]


def test_a_ratio_is_taken_round_by_round_so_that_a_slow_minute_does_not_show() -> None:
    speeds = iter([10.0, 10.0, 20.0, 20.0])
    rounds: Rounds[float] = Rounds(lambda: next(speeds))
    # The second is between a fast and a slow piece, and so counts for nothing.
    for cost_ms in (1.0, 50.0, 2.0):
        rounds.run(lambda cost_ms=cost_ms: cost_ms)  # type: ignore[misc]

    assert cpu_numbers("cpu_ms_per_turn_50", rounds) == {
        "cpu_ms_per_turn_50": 1.0,
        "cpu_per_turn_50_in_fixed_pieces": 0.1,
    }


def test_a_figure_that_is_the_most_has_the_most_as_its_ratio() -> None:
    rounds: Rounds[float] = Rounds(lambda: 10.0)
    for cost_s in (0.1, 0.3, 0.2):
        rounds.run(lambda cost_s=cost_s: cost_s)  # type: ignore[misc]

    assert ratio_number("most_cpu_s", rounds, pick=max) == {"most_cpu_in_fixed_pieces": 30.0}
