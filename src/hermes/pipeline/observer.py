"""The interface that reports how turns ended; `ops` implements it, the default ignores it."""

from collections.abc import Sequence
from typing import Protocol

from hermes.message.reply import Reply
from hermes.pipeline.turn import Turn
from hermes.ports.steps import Step
from hermes.ports.turns import TurnResult

# A step as it began, and as it ended.
Trace = Sequence[tuple[Step, Step]]


class Observer(Protocol):
    """Is notified of turns; it must return at once and never raise."""

    @property
    def traces(self) -> bool:
        """Whether the steps of turns are wanted too."""
        ...

    def ended(self, turn: Turn, reply: Reply, *, result: TurnResult, trace: Trace) -> None:
        """A turn was committed."""
        ...


class NullObserver:
    """An `Observer` that ignores everything."""

    traces = False

    def ended(self, turn: Turn, reply: Reply, *, result: TurnResult, trace: Trace) -> None:
        """Do nothing."""


NOBODY = NullObserver()
