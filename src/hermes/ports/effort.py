"""A wish for reasoning as an effort, for services that know no budgets; pure."""

from typing import Literal

from hermes.ports.options import EFFORT_OPTIONS, Extras, Option

Effort = Literal["low", "medium", "high"]

_LEVELS = ("minimal", "low", "medium", "high", "xhigh", "max")
_HIGH = _LEVELS.index("high")
_LOW_TOKENS = 2_048
_MEDIUM_TOKENS = 8_192


def effort_of(reasoning: Effort | int) -> Effort:
    """Return the effort that a budget in tokens comes closest to; an effort stays as it is.

    A budget of zero is none of them: it means that the model must not reason.
    """
    if not isinstance(reasoning, int):
        return reasoning
    if reasoning <= _LOW_TOKENS:
        return "low"
    return "medium" if reasoning <= _MEDIUM_TOKENS else "high"


def sent_effort(reasoning: Effort | int, extras: Extras | None, *, has: frozenset[Option]) -> str:
    """Return the effort to send to a model: the exact level that was asked for if the model has it,
    otherwise the nearest one in the direction of "high", which every model has.
    """
    exact = None if extras is None else extras.effort
    place = _LEVELS.index(exact or effort_of(reasoning))
    nearest = _LEVELS[place:_HIGH] if place < _HIGH else reversed(_LEVELS[_HIGH + 1 : place + 1])
    return next((level for level in nearest if EFFORT_OPTIONS[level] in has), "high")
