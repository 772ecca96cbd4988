"""Two trees compared: ratios of pairs, their middle and spread, and when it is a regression."""

import pytest

from bench.pairs import Pair, Run, Verdict, compare, compared, pair_ratios, verdict_of

FIGURE, RATIO = "cpu_ms_per_turn_50", "cpu_per_turn_50_in_fixed_pieces"


def run(cpu_ms: float, pieces: float, *, version: float = 2, piece_ms: float = 10) -> Run:
    return Run({FIGURE: cpu_ms, RATIO: pieces, "fixed_piece_version": version}, piece_ms)


def old_run(cpu_ms: float, *, piece_ms: float) -> Run:
    """Return what the bench of a tree gives that knows no ratios."""
    return Run({FIGURE: cpu_ms, "gone_us": 3.0}, piece_ms)


def test_figures_are_compared_in_fixed_pieces_whatever_the_minute() -> None:
    # Twice the time on a machine that was half as fast.
    pair = Pair(base=run(1.0, 0.1), current=run(2.0, 0.11))

    assert pair_ratios(pair) == {FIGURE: pytest.approx(1.1)}


def test_without_the_same_piece_times_are_compared_by_the_piece_around_the_run() -> None:
    current = run(3.0, 0.7, piece_ms=20)

    assert pair_ratios(Pair(old_run(1.0, piece_ms=10), current)) == {FIGURE: pytest.approx(1.5)}
    other_version = run(1.0, 99, version=1, piece_ms=10)
    assert pair_ratios(Pair(other_version, current)) == {FIGURE: pytest.approx(1.5)}


def test_a_figure_has_the_median_of_its_ratios_and_their_whole_spread() -> None:
    found = compared(FIGURE, [1.5, 0.875, 1.25, 1.0])

    assert (found.median, found.low, found.high) == (1.125, 0.875, 1.5)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (1.031, 1.2, "slower"),
        # One pair that does not show it is enough.
        (1.03, 1.5, "same"),
        (0.9, 1.5, "same"),
        (0.98, 1.02, "same"),
        (0.5, 0.98, "same"),
        (0.5, 0.97, "faster"),
    ],
)
def test_a_difference_is_one_only_if_the_whole_spread_shows_it(
    low: float, high: float, verdict: Verdict
) -> None:
    assert verdict_of(low, high) == verdict


def test_figures_that_are_left_out_or_not_in_every_run_are_not_compared() -> None:
    whole = Run(
        {
            "a_us": 1.0,
            "a_in_fixed_pieces": 1.0,
            "route_us": 1.0,
            "route_in_fixed_pieces": 1.0,
            "late_us": 1.0,
            "late_in_fixed_pieces": 1.0,
        },
        10,
    )
    part = Run({name: one for name, one in whole.numbers.items() if "late" not in name}, 10)

    found = compare([Pair(whole, whole), Pair(part, whole)], left_out=("route_",))

    assert [one.figure for one in found] == ["a_us"]


def test_without_a_pair_nothing_is_compared() -> None:
    assert compare([]) == []
