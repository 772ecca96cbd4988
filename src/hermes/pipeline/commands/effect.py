"""What a command says, and what its commit changes beside its own row."""

import msgspec

from hermes.message.outcome import Outcome
from hermes.pipeline.choice_offers import OfferedQuestion
from hermes.ports.sessions import EndReason


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a command that stood beside the lane.

    `interrupts` is a running message that has to end, `reset_lane` a lane that starts over for the
    `end_reason`, `wakes` a lane that somebody has to look at. With `stops_below` all that runs
    below the session has to end, too; with `stops_sending` its replies get no more messages, and
    `text_if_sending` is said if one began to be sent since the command looked. `asks` is the text as a
    question with buttons; one that `is_passing` is a notice that may vanish.
    """

    text: str
    interrupts: str | None = None
    reset_lane: str | None = None
    end_reason: EndReason | None = None
    wakes: str | None = None
    stops_below: bool = False
    stops_sending: bool = False
    text_if_sending: str | None = None
    outcome: Outcome = Outcome.ANSWERED
    asks: OfferedQuestion | None = None
    is_passing: bool = False


def said_if_sending(effect: Effect) -> Effect:
    """Return the end of a command that has met a reply which began to be sent."""
    assert effect.text_if_sending is not None
    return msgspec.structs.replace(effect, text=effect.text_if_sending, text_if_sending=None)


def refused(text: str) -> Effect:
    """Return the end of a command that was not obeyed."""
    return Effect(text=text, outcome=Outcome.REFUSED)
