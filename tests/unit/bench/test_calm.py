"""Which rounds of a measurement count: the machine's speed around them decides, nothing else."""

import pytest

from bench.calm import Rounds, fixed_piece_ms


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
    speeds = iter(pieces)
    rounds: Rounds[str] = Rounds(lambda: next(speeds))
    for name in "abcd"[: len(pieces) - 1]:
        rounds.run(lambda name=name: name)  # type: ignore[misc]

    assert rounds.calm == counted
    assert rounds.calm_share == share


def test_the_piece_takes_time() -> None:
    assert fixed_piece_ms(1) > 0
