"""Which messages of a delivery are already posted on its platform, by chunk. Pure.

A reply that was previewed has one message for each chunk that was started. The final chunks are
sent by editing these messages; messages left over are deleted at the end.
"""

from hermes.message.parts import text_of
from hermes.outbox.chunk_sends import Chunk
from hermes.outbox.marks import EDIT_REJECTED, NOT_THERE, POSSIBLE_REPEAT
from hermes.ports.channel import Capabilities
from hermes.ports.outbox import DeliveryRecord

_SENT_ANEW = frozenset({EDIT_REJECTED, POSSIBLE_REPEAT})


def posted_id_of(record: DeliveryRecord) -> str | None:
    """Return the id of the posted message for the row's current chunk, if known."""
    if record.fresh:
        return None
    if record.chunk == 0:
        return record.platform_message_id
    return record.more[record.chunk - 1] if record.chunk <= len(record.more) else None


def is_in_doubt(record: DeliveryRecord) -> bool:
    """Return True if a preview of the current chunk may be posted although its id is unknown.

    For the first chunk, the row's state says so.
    """
    if record.fresh or record.chunk == 0 or record.chunk > len(record.more):
        return False
    is_settled = record.failure in {*_SENT_ANEW, NOT_THERE}
    return record.more[record.chunk - 1] is None and not is_settled


def end_of(record: DeliveryRecord, chunks: tuple[Chunk, ...]) -> int:
    """Return how many of a row's chunks are to be sent: of one that was stopped, those that are posted.

    A posted message gets its last text, without the cursor of a preview. The first message always
    counts: only a reply that is being sent can be stopped, so it may be posted already.
    """
    if record.stopped_by is None:
        return len(chunks)
    posted = 1 + len(record.more)
    if record.fresh:
        # What showed the reply is deleted at the end: something has to be in its place.
        posted = 1
    elif record.failure == NOT_THERE and record.more[-1:] == (None,):
        posted -= 1
    return min(len(chunks), max(record.chunk, posted))


def is_edit(record: DeliveryRecord, chunk: Chunk, *, capabilities: Capabilities) -> bool:
    """Return True if the current chunk is sent by editing its posted message."""
    return (
        capabilities.edit
        and posted_id_of(record) is not None
        and record.failure not in _SENT_ANEW
        and bool(text_of(chunk))
    )


def leftovers(
    record: DeliveryRecord, chunks: tuple[Chunk, ...]
) -> tuple[tuple[int, str | None], ...]:
    """Return the posted messages that no chunk will reuse, as (index, id).

    All of them if the reply was sent again. The id is None if it was never learned.
    """
    if not record.more and not record.fresh:
        return ()
    needed = 0 if record.fresh else sum(1 for chunk in chunks if text_of(chunk))
    return tuple(enumerate((record.platform_message_id, *record.more)))[needed:]
