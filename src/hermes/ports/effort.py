"""A wish for reasoning as an effort, for services that know no budgets; pure."""

from typing import Literal

Effort = Literal["low", "medium", "high"]

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
