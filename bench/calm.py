"""Rounds of a measurement on a machine that others use too, each between two fixed pieces.

The pieces before and after a round decide alone for what it counts; what was measured has no say.
- A **calm** round counts for figures in seconds: neither piece took much longer than the fastest of all.
- A **steady** round counts for ratios to the piece: the two pieces around it took about as long, so the
  machine kept its speed, fast or slow. Other rounds are thrown out. They are not repeated: then what a
  gateway has served, and so what its store holds, would depend on the neighbours.
"""

import statistics
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from bench.fixed_piece import fixed_piece_ms, in_fixed_pieces, ratio_name

Measured = TypeVar("Measured")
Read = TypeVar("Read")
Pick = Callable[[Iterable[float]], float]

_SLACK = 1.15
# With fewer calm or steady rounds than this share, all of them count.
_ENOUGH = 1 / 3


class Around(NamedTuple):
    """What the fixed piece took before and after a round, in milliseconds."""

    before: float
    after: float

    @property
    def piece_ms(self) -> float:
        """The speed of the machine during the round."""
        return (self.before + self.after) / 2

    @property
    def is_steady(self) -> bool:
        """Whether the machine kept its speed."""
        return max(self) <= min(self) * _SLACK


class Rounds(Generic[Measured]):
    """Rounds, each with how fast the machine was around it."""

    def __init__(self, piece: Callable[[], float] = fixed_piece_ms) -> None:
        self._piece = piece
        self._before: float | None = None
        self._all: list[tuple[Around, Measured]] = []

    def run(self, one_round: Callable[[], Measured]) -> Measured:
        """Run one more; the piece after a round is also the one before the next."""
        before = self._piece() if self._before is None else self._before
        measured = one_round()
        self._before = self._piece()
        self._all.append((Around(before, self._before), measured))
        return measured

    def pause(self) -> None:
        """Say that other work follows: the next round needs a piece of its own before it."""
        self._before = None

    def read(self, value: Callable[[Measured], Read]) -> "Rounds[Read]":
        """Return the same rounds with one value of what each measured."""
        rounds: Rounds[Read] = Rounds(self._piece)
        rounds._all = [(around, value(measured)) for around, measured in self._all]
        return rounds

    @property
    def all(self) -> list[Measured]:
        """What every round measured."""
        return [measured for _, measured in self._all]

    @property
    def calm(self) -> list[Measured]:
        """What was measured while the machine was fast; all of it if that was too little."""
        return self.all if self.calm_share < _ENOUGH else self._fast

    @property
    def calm_share(self) -> float:
        """How many of the rounds found the machine fast."""
        return len(self._fast) / len(self._all)

    @property
    def steady(self) -> list[tuple[float, Measured]]:
        """The piece and what was measured while the machine kept its speed; all if too little."""
        kept = self._all if self.steady_share < _ENOUGH else self._even
        return [(around.piece_ms, measured) for around, measured in kept]

    @property
    def steady_share(self) -> float:
        """How many of the rounds found the machine as fast at their end as at their beginning."""
        return len(self._even) / len(self._all)

    @property
    def _fast(self) -> list[Measured]:
        fastest = min(max(around) for around, _ in self._all)
        return [measured for around, measured in self._all if max(around) <= fastest * _SLACK]

    @property
    def _even(self) -> list[tuple[Around, Measured]]:
        return [(around, measured) for around, measured in self._all if around.is_steady]


def ratio_number(
    figure: str, rounds: Rounds[float], *, pick: Pick = statistics.median
) -> dict[str, float]:
    """Return a CPU figure in fixed pieces: that of each steady round, of which `pick` makes one."""
    ratios = [in_fixed_pieces(figure, one, piece_ms=piece) for piece, one in rounds.steady]
    return {ratio_name(figure): pick(ratios)}


def cpu_numbers(figure: str, rounds: Rounds[float]) -> dict[str, float]:
    """Return a CPU figure, the median of the calm rounds, and the same in fixed pieces."""
    return {figure: statistics.median(rounds.calm), **ratio_number(figure, rounds)}
