"""Judges whether the time that a regular expression takes grows with the input's length and no faster.

No verdict depends on how fast the machine is. A time is compared with what a simple expression takes on the
same machine at that moment: the cost of an input is how many times longer it takes for each character. The
least of several measures counts, of both: a busy machine makes a measure longer, never shorter. Every
expression that is known as good or as bad is at least three times away from the bars.
"""

import math
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from heapq import nlargest
from typing import Any, NamedTuple

from tests.unit.patterns.worst_cases import Input, inputs_for

# The simple expression and its input: it matches two of three characters.
REFERENCE = re.compile(r"(?:[a-m]|n)")
REFERENCE_INPUT = Input("", "an-", "")
_REFERENCE_SIZE = 6000
_REFERENCE_RUNS = 5
# An expression is too slow if an input costs more than `MOST`; or if each of the last doublings of the input
# made the time longer by `GROWTH` on average, and the times are large enough to tell: the input costs more
# than `SUSPECT`, or it takes `_LONG_S`.
MOST = 30.0
SUSPECT = 10.0
GROWTH = 3.0
_DOUBLINGS = 4
# So many characters cost nothing: no short input does harm, and none can be measured well.
_FREE = 4096
# The sizes on the way to the largest, and how many of the inputs, the slowest, go on from each.
_ALL = 10_000
_STEPS = ((48, _ALL), (384, _ALL), (1536, 8), (6144, 4), (24_576, 2), (393_216, 1))
_LEAST_REPEATS = 4
_AGAIN = 3
# A measure is stopped when it is far over the bar, but not before the timer is exact enough.
_FAR = 3
_LEAST_LIMIT_S = 0.2
_TICK_S = 1e-7
_LONG_S = 0.01
# The seconds that an input of a size takes; infinite if it was stopped.
Measure = Callable[[Input, int], float]
# The seconds that the simple expression takes for a character.
Unit = Callable[[], float]
Pattern = re.Pattern[str] | re.Pattern[bytes]
# Any: a method of a pattern takes the text or bytes that its pattern is for.
Apply = Callable[[Any], Any]


class Verdict(NamedTuple):
    """An input, and its cost; `growth` is how much longer it takes than a sixteenth of it."""

    given: Input
    size: int
    seconds: float
    cost: float
    growth: float

    @property
    def is_too_slow(self) -> bool:
        """Tell whether no linear expression could cost this."""
        is_steep = self.growth > GROWTH**_DOUBLINGS
        return self.cost > MOST or (is_steep and (self.cost > SUSPECT or self.seconds > _LONG_S))

    def __str__(self) -> str:
        text = " + ".join(f"{one[:40]!r}" for one in self.given)
        if math.isinf(self.cost):
            return f"{text}: stopped at {self.size} characters"
        return (
            f"{text}: costs {self.cost:.1f} at {self.size} characters, "
            f"{self.growth:.0f} times the time of a sixteenth"
        )


def judge(pattern: Pattern, uses: Iterable[str], *, largest: int) -> Verdict | None:
    """Return an input for which an expression is too slow, or None if it is linear."""
    families = inputs_for(_source(pattern), pattern.flags & ~re.UNICODE)
    found = (
        judge_all(_measure(pattern, use), families, unit=python_unit, largest=largest)
        for use in _runs(uses)
    )
    return next(filter(None, found), None)


def judge_all(
    measure: Measure, families: Iterable[Input], *, unit: Unit, largest: int
) -> Verdict | None:
    """Return the first of the inputs that takes too long, or None; only the slowest become large."""
    ruler = _Ruler(measure, unit)
    left = tuple(families)
    for size, go_on in _steps(largest):
        times: list[tuple[float, Input]] = []
        for family in left:
            # A long piece has to be repeated, too.
            at = min(max(size, _LEAST_REPEATS * len(family.piece)), largest)
            took = measure(family, at)
            if ruler.is_suspect(family, at, took=took, is_last=size == largest):
                verdict = ruler.measured_again(family, at)
                if verdict.is_too_slow:
                    return verdict
            times.append((took, family))
        left = tuple(family for _, family in nlargest(go_on, times))
    return None


def python_unit() -> float:
    """Return the seconds that the simple expression takes in Python for a character."""
    text = REFERENCE_INPUT.text(_REFERENCE_SIZE)
    return min(_seconds(REFERENCE.finditer, text) for _ in range(_REFERENCE_RUNS)) / len(text)


class _Ruler:
    """Turns the times of one expression into costs."""

    def __init__(self, measure: Measure, unit: Unit) -> None:
        self._measure = measure
        self._unit = unit
        self._per_character = unit()

    def cost(self, took: float, size: int) -> float:
        """Return how many times longer each character takes than with the simple expression."""
        return took / (self._per_character * (size + _FREE))

    def is_suspect(self, family: Input, size: int, *, took: float, is_last: bool) -> bool:
        """Tell whether an input deserves a second look: a dear one, and the last if its time grew too much."""
        if self.cost(took, size) > SUSPECT:
            return True
        if not is_last or took < _LONG_S:
            return False
        return took > GROWTH**_DOUBLINGS * self._measure(family, size >> _DOUBLINGS)

    def measured_again(self, family: Input, size: int) -> Verdict:
        """Return the cost by the least of several measures, as soon as they leave no doubt."""
        took = part = self._per_character = math.inf
        verdict = Verdict(family, size, math.inf, math.inf, math.inf)
        for _ in range(_AGAIN):
            self._per_character = min(self._per_character, self._unit())
            took = min(took, self._measure(family, size))
            part = min(part, max(self._measure(family, size >> _DOUBLINGS), _TICK_S))
            verdict = Verdict(family, size, took, self.cost(took, size), took / part)
            if not verdict.is_too_slow or verdict.cost > _FAR * MOST:
                break
        return verdict


def _steps(largest: int) -> Iterator[tuple[int, int]]:
    """Yield the sizes up to the largest, and how many of the inputs go on to the next one."""
    yield from ((size, go_on) for size, go_on in _STEPS if size < largest)
    yield largest, 0


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
    per_character = python_unit()

    def measure(family: Input, size: int) -> float:
        text = family.text(size)
        given = text.encode("latin-1", "replace") if is_bytes else text
        far_over = _FAR * MOST * per_character * (len(given) + _FREE)
        try:
            with _limit(max(far_over, _LEAST_LIMIT_S)):
                return _seconds(apply, given)
        except _TooSlow:
            return math.inf

    return measure


def _seconds(apply: Apply, given: str | bytes) -> float:
    """Return the processor time that finding all matches takes."""
    # While the limit runs, the time of the process is known only to some milliseconds.
    begin = time.thread_time()
    found = apply(given)
    if isinstance(found, Iterator):
        deque(found, maxlen=0)
    return time.thread_time() - begin


class _TooSlow(Exception):
    """The limit of a measure has passed."""


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise `_TooSlow` in the block once it has used so much processor time."""

    def stop(_number: int, _frame: object) -> None:
        raise _TooSlow

    old = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)
