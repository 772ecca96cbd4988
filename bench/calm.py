"""Rounds of a measurement on a machine that others use, too: those count that found it fast.

A round stands between two runs of a piece of work that is always the same. It counts if neither
took much longer than the fastest of them all. What was measured has no say in that, so the median
of what counts is that of the code, and not of the neighbours.
"""

import statistics
from collections.abc import Callable
from time import process_time
from typing import Generic, TypeVar

Measured = TypeVar("Measured")

_SLACK = 1.15
# With fewer calm rounds than this share, all of them count.
_ENOUGH = 1 / 3
_PIECES, _STEPS = 3, 40_000


def fixed_piece_ms(pieces: int = _PIECES) -> float:
    """Return the CPU time of a piece of work that is always the same."""
    return statistics.median(_fixed_piece() for _ in range(pieces)) * 1e3


def _fixed_piece() -> float:
    began = process_time()
    found: dict[str, int] = {}
    for number in range(_STEPS):
        name = f"name {number % 1000}"
        found[name] = found.get(name, 0) + len(name)
    return process_time() - began


class Rounds(Generic[Measured]):
    """Rounds, each with how fast the machine was around it."""

    def __init__(self, piece: Callable[[], float] = fixed_piece_ms) -> None:
        self._piece = piece
        self._before: float | None = None
        self._all: list[tuple[float, Measured]] = []

    def run(self, one_round: Callable[[], Measured]) -> None:
        """Run one more."""
        before = self._piece() if self._before is None else self._before
        measured = one_round()
        self._before = self._piece()
        self._all.append((max(before, self._before), measured))

    @property
    def calm(self) -> list[Measured]:
        """What was measured while the machine was fast; all of it if that was too little."""
        if self.calm_share < _ENOUGH:
            return [measured for _, measured in self._all]
        return self._fast

    @property
    def calm_share(self) -> float:
        """How many of the rounds found the machine fast."""
        return len(self._fast) / len(self._all)

    @property
    def _fast(self) -> list[Measured]:
        fastest = min(slowness for slowness, _ in self._all)
        return [measured for slowness, measured in self._all if slowness <= fastest * _SLACK]
