"""Finds what a reply must carry to be taken: the handle of the message that it answers.

A use of the handle is on disk before the send; a retry of the same send is the same use. Between the
store, which counts, and the sends, which end with `ReplyClosed` if the handle is used up or too old.
"""

from hermes.errors import FailureClass, ReplyClosed
from hermes.message.event import ReplyHandle
from hermes.outbox.channel_calls import ChannelCalls
from hermes.ports.channel import Capabilities
from hermes.ports.clock import Clock
from hermes.ports.outbox import DeliveryRecord, HandleUse, OutboxStore


def closed_reason(use: HandleUse, able: Capabilities, *, now: float) -> str | None:
    """Return why a reply can no longer carry the handle, or None if it can."""
    until = use.handle.until
    if until is None and able.reply_s > 0:
        until = use.received_at + able.reply_s
    if until is not None and now >= until:
        window_s, after_s = until - use.received_at, now - use.received_at
        return f"a message can be answered for {_span(window_s)}, and this is {_span(after_s)} after it"
    if use.number == 0:
        most = min(filter(None, (use.handle.uses, able.replies)))
        return f"a message can be answered {_times(most)}, and it was"
    return None


class ReplyHandles:
    """Hands out the handles for the sends of one platform."""

    def __init__(self, store: OutboxStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def take(
        self, record: DeliveryRecord, wire: ChannelCalls, *, key: str
    ) -> ReplyHandle | None:
        """Return the handle for the send of a key, counted; None if it is sent without one.

        Raises `ReplyClosed` if the platform takes no reply without a handle.
        """
        able = wire.capabilities
        if not able.takes_handles:
            return None
        use = await self._store.use_handle(record.id, key=key, most=able.replies)
        if use is None:
            return None
        reason = closed_reason(use, able, now=self._clock.now())
        if reason is None:
            return use.handle
        if able.reply_late == "plain":
            return None
        raise ReplyClosed(f"{wire.platform}: {reason}", FailureClass.REPLY_CLOSED)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
