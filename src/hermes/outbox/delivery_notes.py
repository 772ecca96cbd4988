"""Builds the timeline notes for failed sends and resolved doubts. Pure."""

from collections.abc import Callable
from typing import Final

from hermes.errors import DeliveryError, DeliveryRejected
from hermes.outbox.backoff import Action, Again, Dead, Stop
from hermes.outbox.marks import EDIT_REJECTED, FILE_REFUSED, POSSIBLE_REPEAT
from hermes.ports.outbox import DeliveryNote, DeliveryRecord

Mask = Callable[[str], str]
_MOST_WORDS: Final = 240


def reason_of(error: DeliveryError, *, is_final: bool, mask: Mask) -> str:
    """Return what is known about a failure, on one bounded line without secrets.

    The advice at the end of an error is left out: it is for operators, and the note already says
    what follows.
    """
    text = said = mask(" ".join(str(error).split()))
    if not is_final:
        head, _, advice = text.rpartition("; ")
        # The opening bracket came earlier: the platform's own text contains a semicolon.
        said = text if not head or ")" in advice else head
    return said if len(said) <= _MOST_WORDS else f"{said[: _MOST_WORDS - 1]}…"


def failed_note(
    record: DeliveryRecord, error: DeliveryError, *, action: Action, now: float, mask: Mask
) -> DeliveryNote:
    """Return the note for a send that failed, with what follows."""
    is_refused = isinstance(action, Dead) and isinstance(error, DeliveryRejected)
    return DeliveryNote(
        at=now,
        failure=str(error.failure),
        why=reason_of(error, is_final=is_refused or error.credential, mask=mask),
        then=_then(action, waits=error.credential),
        until=action.at if isinstance(action, Again) else None,
        chunk=record.chunk,
    )


def settled_note(
    record: DeliveryRecord, then: str, *, now: float, failure: str = ""
) -> DeliveryNote:
    """Return the note for a decision that was made without a send."""
    return DeliveryNote(at=now, failure=failure, then=then, tried=False, chunk=record.chunk)


def action_note(record: DeliveryRecord, action: Action, *, now: float) -> DeliveryNote:
    """Return the note for what happens to a delivery that was not sent."""
    failure = "" if not isinstance(action, Again | Dead) else str(action.failure)
    return settled_note(record, _then(action, waits=False), now=now, failure=failure)


def _then(action: Action, *, waits: bool) -> str:
    if isinstance(action, Dead):
        return "dead"
    if isinstance(action, Stop):
        return "stopped"
    if not isinstance(action, Again):
        return "unknown"
    if waits:
        return "waits"
    marked = {EDIT_REJECTED: "anew", POSSIBLE_REPEAT: "repeated", FILE_REFUSED: "no_file"}
    # An earlier mark stays on the row; only a mark that this call causes is new.
    if action.is_mark_new and action.failure in marked:
        return marked[action.failure]
    return "later" if action.counts else "again"
