"""Handles what a platform tells later about a send: that it came back (a bounce), or that it arrived.

A bounced delivery becomes a dead letter; one that arrived is settled, however its call ended. Nothing
here replies: otherwise a mail server and the gateway could write to each other forever.
"""

import structlog

from hermes.outbox.chunk_sends import is_fresh_key, sent_under
from hermes.ports.channel import ArrivedDelivery, ReturnedDelivery, TellArrived, TellReturned
from hermes.ports.clock import Clock
from hermes.ports.outbox import OutboxStore

log = structlog.get_logger(__name__)


def take_returns(platform: str, store: OutboxStore, *, clock: Clock) -> TellReturned:
    """Return the function to which the channel of a platform reports returned messages."""

    async def take(back: ReturnedDelivery) -> None:
        sent = sent_under(back.key)
        if sent is None:
            return
        delivery, chunk = sent
        message = await store.returned(
            delivery,
            platform=platform,
            chunk=chunk,
            failure=back.failure,
            status=back.status,
            at=clock.now(),
        )
        if message is None:
            log.info("outbox.returned_unknown", delivery=delivery, platform=platform)
            return
        log.warning(
            "outbox.dead",
            delivery=delivery,
            message=message,
            failure=str(back.failure),
            returned=back.status or True,
        )

    return take


def take_arrivals(platform: str, store: OutboxStore, *, clock: Clock) -> TellArrived:
    """Return the function to which the channel of a platform reports what arrived."""

    async def take(there: ArrivedDelivery) -> None:
        sent = sent_under(there.key)
        if sent is None:
            return
        delivery, chunk = sent
        message = await store.arrived(
            delivery,
            platform=platform,
            chunk=chunk,
            is_fresh=is_fresh_key(there.key),
            platform_message_id=there.platform_message_id,
            at=clock.now(),
        )
        if message is not None:
            log.info("outbox.arrived", delivery=delivery, message=message, chunk=chunk)

    return take
