"""What the gateway did lately and does now, as numbers over time: for operators who look at it.

The counts are written with the end of each turn, so they survive a restart and are the same for
every process of a fleet.
"""

from math import ceil, log2
from typing import Final, Protocol

import msgspec

from hermes.message.outcome import MessageState, Outcome
from hermes.ports.steps import StepKind, StepState

# Classes of slowness in each doubling of the time: a class is 19 % wide.
_CLASSES: Final = 4
_SLOWEST: Final = 100
NOT_TIMED: Final = -1


def slowness_of(seconds: float) -> int:
    """Return the class of a duration; `seconds_of` gives the time back, 10 % off at most."""
    ms = seconds * 1000.0
    return 0 if ms <= 1.0 else min(_SLOWEST, ceil(_CLASSES * log2(ms)))


def seconds_of(slowness: int) -> float:
    """Return the time in the middle of a class."""
    return float(2.0 ** ((slowness - 0.5) / _CLASSES)) / 1000.0 if slowness > 0 else 0.001


class TurnCount(msgspec.Struct, frozen=True, kw_only=True):
    """Turns that ended alike in a span of time that begins `at`; -1 as `slowness` is not timed."""

    at: int
    outcome: Outcome
    slowness: int
    turns: int
    messages: int
    tokens: int
    cost_usd: float
    unpriced: int


class RunningTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A message whose turn has begun and not ended, and what it took so far.

    `kind`, `step` and `step_state` are those of its newest step, which began at `step_at`.
    """

    id: str
    state: MessageState
    lane: str
    person_id: str
    platform: str
    received_at: float
    started_at: float | None
    attempts: int
    steps: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    kind: StepKind | None = None
    step: str = ""
    step_state: StepState | None = None
    step_at: float | None = None


class ActivityStore(Protocol):
    """Counts of turns, and those that run."""

    async def counts(self, since: int, *, span_s: int) -> tuple[TurnCount, ...]:
        """Return the turns that ended since then in spans of time, the oldest first."""
        ...

    async def running(self, *, limit: int) -> tuple[RunningTurn, ...]:
        """Return turns that run or wait for a person, the oldest first."""
        ...

    async def tidy(self, now: float) -> None:
        """Join spans that are old enough to longer ones, and forget those whose time is over."""
        ...
