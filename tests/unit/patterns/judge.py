"""Judges whether the time that a regular expression takes grows with the input's length and no faster.

Only times above a floor are compared, and what looks too slow is measured again: a busy machine makes a
measure longer, never shorter. A measure ends after `LIMIT_S`, so that no expression hangs the tests.
"""

import math
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tests.unit.patterns.worst_cases import Input, inputs_for

FLOOR_S = 0.05
MOST_S = 0.5
GROWTH = 3.0
LIMIT_S = 1.0
_SMALL = (24, 48, 96, 192, 384, 768, 1536)
_SUSPECT_S = 0.0004
_AGAIN = 4
# The seconds that one input of one size takes; infinite if it was stopped at the limit.
Measure = Callable[[Input, int], float]
Pattern = re.Pattern[str] | re.Pattern[bytes]


class Verdict(NamedTuple):
    """An input for which an expression is too slow."""

    given: Input
    size: int
    seconds: float
    half_seconds: float

    def __str__(self) -> str:
        text = " + ".join(f"{one[:40]!r}" for one in self.given)
        if math.isinf(self.seconds):
            return f"{text}: more than {LIMIT_S} s for {self.size}"
        return f"{text}: {self.seconds:.3f} s for {self.size}, {self.half_seconds:.3f} s for half"


def judge(pattern: Pattern, uses: Iterable[str], *, largest: int) -> Verdict | None:
    """Return an input for which an expression is too slow, or None if it is linear."""
    families = inputs_for(_source(pattern), pattern.flags & ~re.UNICODE)
    found = (judge_all(_measure(pattern, use), families, largest=largest) for use in _runs(uses))
    return next(filter(None, found), None)


def judge_all(measure: Measure, families: Iterable[Input], *, largest: int) -> Verdict | None:
    """Return the first of the inputs that takes too long, or None; only the slowest are doubled."""
    times: list[tuple[float, Input]] = []
    for family in families:
        took, size = _small(measure, family, largest)
        if took > LIMIT_S / 10:
            # So slow for so little: the others need not be waited for.
            return Verdict(family, size, took, took)
        times.append((took, family))
    times.sort(reverse=True)
    slowest = [one for at, (took, one) in enumerate(times[:5]) if at < 2 or took > _SUSPECT_S]
    return next(filter(None, (grow(measure, one, largest=largest) for one in slowest)), None)


def grow(measure: Measure, family: Input, *, largest: int) -> Verdict | None:
    """Double an input up to the largest; return the first size that takes too long, or None."""
    size = 6
    while size < largest:
        size = min(2 * size, largest)
        took = measure(family, size)
        if math.isinf(took):
            return Verdict(family, size, took, took)
        if took > FLOOR_S:
            verdict = _measured_again(measure, family, size)
            if verdict is not None:
                return verdict
    return None


def _small(measure: Measure, family: Input, largest: int) -> tuple[float, int]:
    """Return the time for a small input, and its size: for the first that is slow, if there is one."""
    took, size = 0.0, 0
    for size in _SMALL:
        took = measure(family, min(size, largest))
        if took > FLOOR_S:
            break
    return took, size


def _measured_again(measure: Measure, family: Input, size: int) -> Verdict | None:
    """Compare the least of several measures: with the half, and with the half of the half."""
    took: list[float] = [float("inf")] * 3
    for _ in range(_AGAIN):
        took = [min(old, measure(family, size >> at)) for at, old in enumerate(took)]
        is_steep = took[0] > GROWTH * took[1] and took[0] > GROWTH * GROWTH * took[2]
        if took[0] <= MOST_S and not is_steep:
            return None
    return Verdict(family, size, took[0], took[1])


def _source(pattern: Pattern) -> str:
    source = pattern.pattern
    return source.decode("latin-1") if isinstance(source, bytes) else source


def _runs(uses: Iterable[str]) -> set[str]:
    """Return how an expression is run: at the start of a text, or all over it if nobody knows."""
    how = set(uses)
    anchored = how & {"match", "fullmatch"}
    return anchored if how and how == anchored else anchored | {"finditer"}


def _measure(pattern: Pattern, use: str) -> Measure:
    apply = getattr(pattern, use)
    is_bytes = isinstance(pattern.pattern, bytes)

    def measure(family: Input, size: int) -> float:
        text = family.text(size)
        given = text.encode("latin-1", "replace") if is_bytes else text
        try:
            with _limit():
                # While the limit runs, the time of the process is known only to some milliseconds.
                begin = time.thread_time()
                found = apply(given)
                if use == "finditer":
                    deque(found, maxlen=0)
                return time.thread_time() - begin
        except _TooSlow:
            return math.inf

    return measure


class _TooSlow(Exception):
    """The limit of a measure has passed."""


@contextmanager
def _limit() -> Iterator[None]:
    """Raise `_TooSlow` in the block once it has used so much processor time."""

    def stop(_number: int, _frame: object) -> None:
        raise _TooSlow

    old = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)
