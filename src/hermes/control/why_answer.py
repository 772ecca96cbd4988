"""The short answers of `hermes why`: one plain sentence about a message, and what it waits for.

Beside `why.py`, which makes the report. It reads the timeline and the lane; it words, it never
decides.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from hermes.control.why_delivery import attempts_of, is_held, last_reason
from hermes.message.outcome import DeliveryState, MessageState, Outcome
from hermes.ports.inbox import RefusedMessage
from hermes.ports.outbox import DeliveryRecord, is_repeat
from hermes.ports.store import Store
from hermes.ports.timeline import Timeline
from hermes.ports.turns import WAITS_FOR_PLACE, MessageRecord

# Says what keeps a platform's replies from being sent, if anything does.
Hold = Callable[[str], Awaitable[str | None]]
# The same, by platform, for the deliveries of one message.
Holds = Mapping[str, str | None]
NO_HOLDS: Holds = MappingProxyType({})
_ENDED = {
    Outcome.ANSWERED: "Answered",
    Outcome.FAILED: "Failed",
    Outcome.INTERRUPTED: "Stopped by the person",
    Outcome.EXPIRED: "Expired unanswered",
    Outcome.REFUSED: "Refused",
    Outcome.MERGED: "Merged",
    Outcome.OVERHEARD: "Not addressed",
}
_PLACE = "a free place for its model call"
_UNSETTLED = frozenset(
    {DeliveryState.PENDING, DeliveryState.SENDING, DeliveryState.RETRY, DeliveryState.PREVIEW}
)


async def no_hold(_platform: str) -> str | None:
    """Return nothing: without a gateway the state of its channels is unknown."""
    return None


def answer_of(
    timeline: Timeline,
    *,
    model: str | None,
    waiting: str | None,
    now: float,
    holds: Holds = NO_HOLDS,
) -> str:
    """Return the outcome of the message in one sentence."""
    message = timeline.message
    if message is None:
        return ""
    if message.outcome is None:
        age = span(now - message.received_at)
        return f"Not finished yet, {age} after it was accepted: waiting for {waiting}."
    if message.outcome is Outcome.MERGED and message.merged_into:
        return f"Merged into {message.merged_into}, whose reply answers both; not charged."
    if message.outcome is Outcome.OVERHEARD:
        return "Not addressed; kept as context until I am spoken to there, and not charged."
    pieces = [_ending(message, model), _money(timeline), *_outgoing(timeline, now=now, holds=holds)]
    reason = timeline.result.reason if timeline.result else None
    if reason:
        pieces.insert(1, f"because {reason.rstrip('.')}")
    duplicates = sum(event.kind == "duplicate" for event in timeline.events)
    if duplicates:
        pieces.append(f"it arrived {_more_times(duplicates)} and got the same reply")
    return "; ".join(piece for piece in pieces if piece) + "."


def refusal_answer(refusal: RefusedMessage) -> str:
    """Return one sentence that says why a message was not accepted."""
    when = clock_time(refusal.at)
    text = f"Refused at {when} ({refusal.code}): {refusal.text.rstrip('.')}. Nothing was kept"
    if refusal.message_id:
        return f"{text}; the message under that id is {refusal.message_id}."
    return f"{text} and nothing was charged."


def sent_answer(timeline: Timeline, *, now: float, holds: Holds = NO_HOLDS) -> str:
    """Return one sentence about what was sent in answer to no message."""
    told = _outgoing(timeline, now=now, holds=holds, what="the message")
    when = clock_time(timeline.deliveries[0].created_at)
    return f"Sent in answer to no message, written at {when}; {'; '.join(told)}."


async def waiting_for(
    store: Store, timeline: Timeline, *, now: float, holds: Holds = NO_HOLDS
) -> str | None:
    """Say what the message, or the oldest of its unsent replies, is waiting for now."""
    message = timeline.message
    if message is None:
        return None
    if message.outcome is None:
        return await _waiting_message(store, message, timeline=timeline, now=now)
    for row in timeline.deliveries:
        if row.state in _UNSETTLED or row.state is DeliveryState.UNKNOWN:
            how = delivered_how(row, now=now, holds=holds)
            return f"its reply to {row.target.platform} is {how}"
    return None


async def _waiting_message(
    store: Store, message: MessageRecord, *, timeline: Timeline, now: float
) -> str:
    if message.state is MessageState.PARKED:
        approval = await store.approvals.waiting(message.lane)
        if approval is None:
            return "a person's approval"
        left = span(max(0.0, approval.expires_at - now))
        return f"approval {approval.id} of the tool {approval.tool}, which expires in {left}"
    if message.state is MessageState.MERGING:
        return f"the running turn of {message.merged_into}, which has taken it in"
    if message.state is MessageState.NEW:
        head = (await store.turns.view(message.lane)).message
        if head is not None and head.id != message.id:
            parked = head.state is MessageState.PARKED
            behind = " and waits for an approval" if parked else ""
            return f"{head.id}, which is before it in the same conversation{behind}"
        waits = timeline.has_waited_for_place
        return _PLACE if waits else "a free worker"
    for step in reversed(timeline.steps):
        if step.state == "started":
            since = f" (started {span(now - step.at)} ago)" if step.at else ""
            return f"{step.kind} {step.name}".strip() + since
    if timeline.events and timeline.events[-1].kind == WAITS_FOR_PLACE:
        return _PLACE
    return "the next step of its turn"


def delivered_how(row: DeliveryRecord, *, now: float, holds: Holds = NO_HOLDS) -> str:
    """Return the state of a delivery in a few words."""
    if is_pulled(row):
        return "pulled"
    tried = attempts_of(row)
    held = holds.get(row.target.platform) if is_held(row) else None
    if held is not None:
        return "waiting to be sent" + (f", after {_times(tried)}" if tried else "") + f": {held}"
    if row.state is DeliveryState.RETRY:
        due = "now" if row.next_at <= now else f"in {span(row.next_at - now)}"
        return f"retried {due} after {_times(tried)} ({_reason(row)})"
    words = {
        DeliveryState.PREVIEW: "being written",
        DeliveryState.PENDING: "waiting to be sent",
        DeliveryState.SENDING: "being sent",
        DeliveryState.SENT: _sent(row, tried),
        DeliveryState.UNKNOWN: "unknown: it was sent, but the platform's answer was lost",
        DeliveryState.DEAD: "a dead letter"
        + (f" after {_times(tried)}" if tried else "")
        + f" ({_reason(row)})",
    }
    return words[row.state]


def _sent(row: DeliveryRecord, tried: int) -> str:
    sent = "sent" if tried <= 1 else f"sent after {_times(tried)}"
    if is_repeat(row.story):
        return f"{sent}, marked as possibly a repeat because an earlier send may have arrived"
    return sent


def _reason(row: DeliveryRecord) -> str:
    failure, why = row.failure or "no reason given", last_reason(row)
    return f"{failure}: {why}" if why else failure


def is_pulled(row: DeliveryRecord) -> bool:
    """Return whether the caller fetches this reply, so that nothing had to be sent."""
    return (
        row.state is DeliveryState.SENT
        and row.platform_message_id is None
        and row.sending_at is None
    )


def span(seconds: float) -> str:
    """Return a length of time as people say it."""
    seconds = max(0.0, seconds)
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} days"


def clock_time(at: float) -> str:
    """Return a moment in UTC, to the second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _ending(message: MessageRecord, model: str | None) -> str:
    outcome = message.outcome or Outcome.FAILED
    took = span((message.done_at or message.received_at) - message.received_at)
    by = f" by {model}" if model and outcome is Outcome.ANSWERED else ""
    return f"{_ENDED[outcome]} after {took}{by}"


def _money(timeline: Timeline) -> str:
    captured = sum(abs(int(row["amount"])) for row in timeline.ledger if row["kind"] == "capture")
    refunded = sum(abs(int(row["amount"])) for row in timeline.ledger if row["kind"] == "refund")
    if captured and refunded:
        return f"{_credits(captured)} captured and {_credits(refunded)} refunded"
    return f"{_credits(captured)} captured" if captured else "nothing was charged"


def _outgoing(
    timeline: Timeline, *, now: float, holds: Holds, what: str = "the reply"
) -> list[str]:
    if not timeline.deliveries:
        return ["no reply was sent"]
    told = []
    for row in timeline.deliveries:
        how = delivered_how(row, now=now, holds=holds)
        if row.state is DeliveryState.SENT:
            how = how.removeprefix("sent").lstrip(" ,")
            told.append(f"delivered to {row.target.platform}" + (f" ({how})" if how else ""))
        else:
            told.append(f"{what} to {row.target.platform} is {how}")
    return list(dict.fromkeys(told))


def _credits(amount: int) -> str:
    return "1 credit" if amount == 1 else f"{amount} credits"


def _times(count: int) -> str:
    return "1 attempt" if count == 1 else f"{count} attempts"


def _more_times(count: int) -> str:
    return "once more" if count == 1 else f"{count} more times"
