"""Handles messages that a platform returns later (bounces): the delivery becomes a dead letter.

Channels such as email learn of it long after the send. Nothing here replies: otherwise a mail
server and the gateway could write to each other forever.
"""

import structlog

from hermes.outbox.chunk_sends import sent_under
from hermes.ports.channel import ReturnedDelivery, TellReturned
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
