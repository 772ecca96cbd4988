"""Two trees compared by alternating runs: the ratios of the pairs, their middle, spread and verdict; pure."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from bench.fixed_piece import cpu_figures, in_fixed_pieces

Numbers = dict[str, float]
Verdict = Literal["slower", "faster", "same"]

LIMIT = 1.03


class Run(msgspec.Struct, frozen=True):
    """The numbers of one run, and the fixed piece as the comparison measured it around the run."""

    numbers: Numbers
    piece_ms: float


class Pair(msgspec.Struct, frozen=True):
    """A run of the base and the run of this tree that followed it."""

    base: Run
    current: Run


class Compared(msgspec.Struct, frozen=True):
    """One CPU figure over all pairs: how many times that of the base it is; low is the least."""

    figure: str
    ratios: list[float]
    median: float
    low: float
    high: float
    verdict: Verdict


def compare(pairs: Sequence[Pair], *, left_out: tuple[str, ...] = ()) -> list[Compared]:
    """Return every CPU figure that all runs have; `left_out` are beginnings of names."""
    ratios = [pair_ratios(pair) for pair in pairs]
    return [
        compared(figure, [one[figure] for one in ratios])
        for figure in (ratios[0] if ratios else ())
        if all(figure in one for one in ratios) and not figure.startswith(left_out)
    ]


def compared(figure: str, ratios: list[float]) -> Compared:
    """Return the middle and the whole spread of the ratios of a figure, and what they say."""
    low, high = min(ratios), max(ratios)
    return Compared(figure, ratios, statistics.median(ratios), low, high, verdict_of(low, high))


def verdict_of(low: float, high: float) -> Verdict:
    """Return a difference only if every pair shows it, by more than the limit."""
    if low > LIMIT:
        return "slower"
    return "faster" if high < 1 / LIMIT else "same"


def pair_ratios(pair: Pair) -> dict[str, float]:
    """Return this tree's figure divided by the base's for each CPU figure that both have.

    Both in fixed pieces around their rounds, if both runs know the same piece; otherwise the times,
    each divided by the piece around the run.
    """
    current, base = pair.current.numbers, pair.base.numbers
    figures = cpu_figures(current)
    if _version(current) == _version(base):
        return _ratios(current, base, names=figures)
    return {
        figure: in_fixed_pieces(figure, current[figure], piece_ms=pair.current.piece_ms)
        / in_fixed_pieces(figure, base[figure], piece_ms=pair.base.piece_ms)
        for figure in figures
        if base.get(figure)
    }


def _ratios(current: Numbers, base: Numbers, *, names: Mapping[str, str]) -> dict[str, float]:
    return {
        figure: current[ratio] / base[ratio] for figure, ratio in names.items() if base.get(ratio)
    }


def _version(numbers: Numbers) -> float | None:
    return numbers.get("fixed_piece_version")
