"""What a command says, and what its commit changes beside its own row."""

import msgspec

from hermes.message.outcome import Outcome
from hermes.ports.sessions import EndReason


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a command that stood beside the lane.

    `interrupts` is a running message that has to end, `reset_lane` a lane that starts over for the
    `end_reason`, `wakes` a lane that somebody has to look at. With `stops_below` all that runs
    below the session has to end, too; with `stops_sending` its replies get no more messages.
    """

    text: str
    interrupts: str | None = None
    reset_lane: str | None = None
    end_reason: EndReason | None = None
    wakes: str | None = None
    stops_below: bool = False
    stops_sending: bool = False
    outcome: Outcome = Outcome.ANSWERED


def refused(text: str) -> Effect:
    """Return the end of a command that was not obeyed."""
    return Effect(text=text, outcome=Outcome.REFUSED)
