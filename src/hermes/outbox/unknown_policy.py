"""Decides how an unknown delivery is resolved, by what the platform can do.

Pure. Unknown means that the message may or may not have arrived. A connection failure is never
unknown: nothing was sent.
"""

from enum import Enum

from hermes.message.parts import text_of
from hermes.message.reply import STOPPED
from hermes.outbox.backoff import is_too_old
from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.marks import EDIT_REJECTED, POSSIBLE_REPEAT
from hermes.outbox.posted_messages import is_in_doubt, posted_id_of
from hermes.ports.channel import Capabilities
from hermes.ports.outbox import DeliveryRecord


class Settlement(Enum):
    """What to do with an `unknown` delivery."""

    EDIT_AGAIN = "edit_again"
    SAME_KEY = "same_key"
    LOOK = "look"
    MARKED = "marked"
    HOLD = "hold"


def settle(
    delivery: DeliveryRecord,
    capabilities: Capabilities,
    *,
    now: float,
    tries: int,
    timing: OutboxTiming,
) -> Settlement:
    """Return how to resolve `delivery` after `tries` failed resends."""
    if delivery.failure == POSSIBLE_REPEAT:
        return Settlement.HOLD
    is_late = is_too_old(delivery, now, timing=timing)
    may_resend = not is_late and resend_delay(tries, timing=timing) is not None
    if may_resend and _was_edit(delivery, capabilities):
        return Settlement.EDIT_AGAIN
    if may_resend and now < delivery.created_at + _usable_window(delivery, capabilities):
        return Settlement.SAME_KEY
    if capabilities.history:
        return Settlement.LOOK
    must_hold = delivery.purpose == "tool" or capabilities.in_doubt == "hold"
    if is_late or must_hold or _says_only_stopped(delivery):
        return Settlement.HOLD
    return Settlement.MARKED


def resend_delay(tries: int, *, timing: OutboxTiming) -> float | None:
    """Return the wait after `tries` failed resends, or None if they are used up."""
    delays = (timing.settle_after_s, *timing.quick_delays_s[1:], *timing.later_delays_s)
    return delays[tries] if tries < len(delays) else None


def _says_only_stopped(delivery: DeliveryRecord) -> bool:
    """Return whether the text only says that a reply was stopped; late, it would confuse."""
    return text_of(delivery.parts or ()) == STOPPED


def _was_edit(delivery: DeliveryRecord, capabilities: Capabilities) -> bool:
    return (
        capabilities.edit
        and posted_id_of(delivery) is not None
        and delivery.failure != EDIT_REJECTED
    )


def _usable_window(delivery: DeliveryRecord, capabilities: Capabilities) -> float:
    # The window opened with the first send. Only this is certain about it: it came after the
    # commit, or, if the row was never being sent, it was the preview, somewhat before the commit.
    if delivery.sending_at is None or is_in_doubt(delivery):
        return capabilities.key_window_s / 2
    return capabilities.key_window_s
