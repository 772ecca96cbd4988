"""Which messages of a delivery stand on its platform already, by chunk; pure.

A reply that was shown while it was written has one message for each chunk that was begun. The
commit's chunks go out by editing them; what is left over is taken back in the end.
"""

from hermes.message.parts import text_of
from hermes.outbox.chunk_sends import Chunk
from hermes.outbox.marks import EDIT_REJECTED, NOT_THERE, POSSIBLE_REPEAT
from hermes.ports.channel import Capabilities
from hermes.ports.outbox import DeliveryRecord

_SENT_ANEW = frozenset({EDIT_REJECTED, POSSIBLE_REPEAT})


def standing_of(record: DeliveryRecord) -> str | None:
    """Return the id of the message that stands for the row's current chunk, if one is known."""
    if record.fresh:
        return None
    if record.chunk == 0:
        return record.platform_message_id
    return record.more[record.chunk - 1] if record.chunk <= len(record.more) else None


def is_in_doubt(record: DeliveryRecord) -> bool:
    """Tell whether a preview of the current chunk may stand whose id nobody knows.

    Of the first chunk the row's state says it.
    """
    if record.fresh or record.chunk == 0 or record.chunk > len(record.more):
        return False
    is_settled = record.failure in {*_SENT_ANEW, NOT_THERE}
    return record.more[record.chunk - 1] is None and not is_settled


def is_edit(record: DeliveryRecord, chunk: Chunk, *, capabilities: Capabilities) -> bool:
    """Tell whether the current chunk goes out by editing the message that stands for it."""
    return (
        capabilities.edit
        and standing_of(record) is not None
        and record.failure not in _SENT_ANEW
        and bool(text_of(chunk))
    )


def leftovers(
    record: DeliveryRecord, chunks: tuple[Chunk, ...]
) -> tuple[tuple[int, str | None], ...]:
    """Return the messages that no chunk needs, by number: all, where the reply was sent anew.

    One of which nobody knows the id may stand.
    """
    if not record.more and not record.fresh:
        return ()
    needed = 0 if record.fresh else sum(1 for chunk in chunks if text_of(chunk))
    return tuple(enumerate((record.platform_message_id, *record.more)))[needed:]
