"""Decides what follows a failed platform call: retry, unknown, or dead letter. Pure."""

import msgspec

from hermes.errors import DeliveryError, DeliveryRejected, DeliveryUnknown, FailureClass
from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.marks import EDIT_REJECTED, FILE_REFUSED, NOT_THERE, POSSIBLE_REPEAT
from hermes.ports.outbox import DeliveryRecord


class Again(msgspec.Struct, frozen=True, kw_only=True):
    """Send again at `at`; `counts` if a whole series of tries is used up.

    `is_mark_new` if this failure itself sets the mark in `failure`.
    """

    at: float
    failure: str
    counts: bool
    is_mark_new: bool = False


class Lost(msgspec.Struct, frozen=True):
    """The delivery may or may not have arrived."""


class Dead(msgspec.Struct, frozen=True):
    """The delivery will not be sent."""

    failure: str


class Stop(msgspec.Struct, frozen=True):
    """The person stopped the delivery: what is not sent yet will not be."""


Action = Again | Lost | Dead | Stop


class FailedCall(msgspec.Struct, frozen=True, kw_only=True):
    """How the failed call was made, and how many tries of this series failed before it."""

    tries: int = 0
    trial: bool = False
    editing: bool = False
    # Whether it sent the file with the whole reply, and nothing else.
    is_file: bool = False
    open_until: float | None = None


def is_too_old(delivery: DeliveryRecord, now: float, *, timing: OutboxTiming) -> bool:
    """Return True if the reply is too old to send; its age counts from the commit."""
    return now >= delivery.created_at + timing.max_age_s


def spread(delay: float, chance: float, *, jitter: float) -> float:
    """Return `delay` changed by up to `jitter` of itself, up or down; `chance` is in [0, 1)."""
    return delay * (1.0 + jitter * (2.0 * chance - 1.0))


def decide(
    delivery: DeliveryRecord,
    error: DeliveryError,
    *,
    now: float,
    tried: FailedCall,
    timing: OutboxTiming,
    chance: float,
) -> Action:
    """Return what happens to a delivery after `error`."""
    if error.credential:
        # The reply is not at fault: it waits for its channel, which stops, and may expire there.
        return Again(at=now, failure=kept_mark(delivery, error.failure), counts=False)
    if isinstance(error, DeliveryRejected):
        if tried.editing:
            return Again(at=now, failure=EDIT_REJECTED, counts=False, is_mark_new=True)
        if tried.is_file and delivery.failure not in {FILE_REFUSED, POSSIBLE_REPEAT}:
            return Again(at=now, failure=FILE_REFUSED, counts=False, is_mark_new=True)
        return Dead(error.failure)
    # An edit may be repeated without harm, so a lost answer to one is an ordinary failure.
    if isinstance(error, DeliveryUnknown) and not tried.editing:
        return Lost()
    again = _next_try(delivery, error, now=now, tried=tried, timing=timing, chance=chance)
    if again is None or again.at >= delivery.created_at + timing.max_age_s:
        return Dead(error.failure)
    return again


def _next_try(
    delivery: DeliveryRecord,
    error: DeliveryError,
    *,
    now: float,
    tried: FailedCall,
    timing: OutboxTiming,
    chance: float,
) -> Again | None:
    failure = kept_mark(delivery, error.failure)
    wanted = error.retry_after or 0.0
    if tried.trial:
        # The trial call of an open breaker does not count as a try.
        at = max(now + wanted, tried.open_until or now)
        return Again(at=at, failure=failure, counts=False)
    counts = tried.tries + 1 >= len(timing.quick_delays_s)
    if not counts:
        delay = timing.quick_delays_s[tried.tries + 1]
    elif delivery.attempts < len(timing.later_delays_s):
        delay = timing.later_delays_s[delivery.attempts]
    else:
        return None
    delay = max(spread(delay, chance, jitter=timing.jitter), wanted)
    return Again(at=now + delay, failure=failure, counts=counts)


def kept_mark(delivery: DeliveryRecord, failure: FailureClass) -> str:
    """Return the row's new `failure`: a mark that changes how it is sent is kept."""
    if delivery.failure in {EDIT_REJECTED, POSSIBLE_REPEAT, NOT_THERE, FILE_REFUSED}:
        return delivery.failure
    return failure
