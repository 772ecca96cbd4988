"""The story of a delivery in words: its sends that failed, what followed, and what holds it up now.

Beside `why_answer.py` and `deadletters.py`, which tell it. It words what the outbox noted and how the
channels stand; it never decides.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from hermes.control.status import ChannelStatus
from hermes.message.outcome import DeliveryState
from hermes.ports.outbox import DeliveryNote, DeliveryRecord

_THEN = {
    "again": "tried again at {time}",
    "later": "waits until {time}",
    "waits": "waits for its channel",
    "unknown": "it may have arrived",
    "repeated": "sent once more, marked as possibly a repeat",
    "resent": "sent again so that it stands there once",
    "found": "found there: it had arrived",
    "arrived": "the platform said that it had arrived",
    "not_there": "it is not there, so it is sent again",
    "held": "left to the operator, because it may have arrived",
    "anew": "sent as a new message, because the one that showed it cannot be changed",
    "no_file": "a note is sent in the place of the file",
    "stopped": "stopped by the person: this message of it and those after it were not sent",
    "dead": "given up",
    "replay": "sent again by an operator",
    "drop": "dropped by an operator",
    "lapsed": "dropped, because nobody dealt with it for outbox.dead_letter_days",
}
_WAITING = frozenset({DeliveryState.PENDING, DeliveryState.RETRY})


class DeliveryTry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened to a delivery; `sent` is false where nothing was sent.

    `failure` is the class, `reason` what the platform said, `then` what followed in words and `until`
    when; `message` is which of its messages, from 1.
    """

    at: float
    then: str
    failure: str = ""
    reason: str = ""
    until: float | None = None
    sent: bool = True
    message: int = 1


def tries_of(row: DeliveryRecord) -> tuple[DeliveryTry, ...]:
    """Return what is noted of a delivery, oldest first."""
    return tuple(
        DeliveryTry(
            at=note.at,
            then=then_text(note),
            failure=note.failure,
            reason=note.why,
            until=note.until,
            sent=note.tried,
            message=note.chunk + 1,
        )
        for note in row.story
    )


# Any: the fields of a line of the timeline; they are only ever printed.
def send_lines(row: DeliveryRecord) -> Iterator[tuple[float, str, dict[str, Any]]]:
    """Tell each send of a reply that failed, what was decided about it, and its arrival."""
    about = {"delivery": row.id, "platform": row.target.platform}
    for note in row.story:
        said = {"failure": note.failure, "reason": note.why, "then": then_text(note)}
        told = {key: text for key, text in said.items() if text}
        yield note.at, "send failed" if note.tried else "delivery", {**about, **told}
    # What callers fetch themselves was never on a wire.
    ended_at = row.ended_at if row.sending_at is not None else None
    if row.state is DeliveryState.SENT and ended_at is not None:
        yield ended_at, "sent", {**about, "attempts": attempts_of(row)}


def attempts_of(row: DeliveryRecord) -> int:
    """Return how often a delivery was sent, the one that went through or is on the wire included."""
    if row.sending_at is None and not row.failed:
        return 0
    was_found = any(note.then in ("found", "arrived") for note in row.story)
    is_one_more = row.state in {DeliveryState.SENT, DeliveryState.SENDING} and not was_found
    return row.failed + int(is_one_more)


def then_text(note: DeliveryNote) -> str:
    """Say what followed."""
    time = "" if note.until is None else short_time(note.until, seconds=True)
    return _THEN.get(note.then, note.then).format(time=time or "once it can be").strip()


def last_reason(row: DeliveryRecord) -> str:
    """Return the platform's last word on why a delivery did not go through."""
    return next((note.why for note in reversed(row.story) if note.why), "")


def hold_of(status: ChannelStatus | None, *, paused_at: float | None = None) -> str | None:
    """Say what keeps the replies of a platform from being sent now, if anything does."""
    if status is None:
        return None
    if paused_at is not None:
        return f"{status.name} is paused since {short_time(paused_at)}"
    if status.state == "fatal":
        return f"{status.name} is stopped because {status.note or 'it failed'}".rstrip(".")
    if status.state in ("disconnected", "starting"):
        because = f": {status.note}" if status.note else ""
        return f"{status.name} is not connected{because}".rstrip(".")
    if status.rests_until is None:
        return None
    return f"{status.name} is {breaker_text(status.rests_until, status.failures)}"


def breaker_text(until: float, failures: int) -> str:
    """Say until when nothing is sent to a platform that kept failing."""
    return f"not sending until {short_time(until)} after {failures} failures"


def is_held(row: DeliveryRecord) -> bool:
    """Return whether a delivery waits for its channel while that cannot send."""
    return row.state in _WAITING


def short_time(at: float, *, seconds: bool = False) -> str:
    """Return a moment of the day in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S UTC" if seconds else "%H:%M UTC")
