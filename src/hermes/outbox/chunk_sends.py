"""Converts an outbox row into the sends of its chunks: text, idempotency key, new message or edit.

Pure. The preview and the first chunk share one key. So on a platform that supports keys, a preview
whose id was lost and the reply that follows it are one message.
"""

import re
from collections.abc import Sequence

from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    text_of,
)
from hermes.outbox.chunks import Measure, split
from hermes.outbox.marks import CUT_OFF, EDIT_REJECTED, POSSIBLE_REPEAT, REPEAT_PREFIX
from hermes.ports.channel import Delivery
from hermes.ports.outbox import DeliveryRecord

Chunk = tuple[Part, ...]

_FRESH = ".fresh"
_KEY = re.compile(rf"(.{{1,100}})\.([0-9]{{1,4}})(?:{re.escape(_FRESH)})?", re.DOTALL)
# A list, a quote, code, a title or a table, which begin only at the start of a line.
_BLOCK_START = re.compile(r"[-+*]\s|\d{1,9}[.)]\s|#{1,6}\s|>|```|~~~|\|")


def chunks_of(
    parts: tuple[Part, ...],
    *,
    max_chars: int,
    measure: Measure = len,
    together: int = 0,
    most: int = 0,
) -> tuple[Chunk, ...]:
    """Return the messages that make up a reply: its text in pieces, then each attachment.

    If one message can hold `together` bytes of attachments, they go with the last piece of the
    text, and into more messages only if they are too large for it. `most` limits the messages of
    the text. Space for the repeat prefix is always reserved, so that chunk numbers do not change if
    it is needed.
    """
    limit = max(1, max_chars - max(len(REPEAT_PREFIX), measure(REPEAT_PREFIX)))
    texts = split(text_of(parts), limit=limit, measure=measure)
    if 0 < most < len(texts):
        texts = _cut_off(texts, most, limit=limit, measure=measure)
    attached = [
        part for part in parts if not isinstance(part, TextPart | ToolCallPart | ToolResultPart)
    ]
    chunks: list[Chunk] = [(TextPart(text),) for text in texts]
    used = 0
    for part in attached:
        # An attachment of unknown size may need all the space.
        size = _size_of(part, unknown=together)
        if together and chunks and used + size <= together:
            chunks[-1] = (*chunks[-1], part)
            used += size
        else:
            chunks.append((part,))
            used = size
    return tuple(chunks)


def key_of(record: DeliveryRecord) -> str:
    """Return the idempotency key of the row's current chunk; it is the same for every retry."""
    # With the preview's key the platform would return the message that cannot be edited.
    fresh = _FRESH if record.fresh or record.failure == EDIT_REJECTED else ""
    return f"{preview_key(record.id, record.chunk)}{fresh}"


def preview_key(delivery_id: str, chunk: int = 0) -> str:
    """Return the key under which a preview, and later its chunk, is sent."""
    return f"{delivery_id}.{chunk}"


def sent_under(key: str) -> tuple[str, int] | None:
    """Return the delivery and chunk that a key belongs to; None if it is not such a key."""
    found = _KEY.fullmatch(key)
    return None if found is None else (found[1], int(found[2]))


def compose(record: DeliveryRecord, chunk: Chunk) -> Delivery:
    """Return the send of the row's current chunk."""
    parts = chunk
    if record.failure == POSSIBLE_REPEAT:
        first = chunk[0]
        marked = TextPart(_repeated(first.text)) if isinstance(first, TextPart) else None
        parts = (marked, *chunk[1:]) if marked else (TextPart(REPEAT_PREFIX), *chunk)
    return Delivery(id=record.id, target=record.target, parts=parts, key=key_of(record))


def _cut_off(texts: Sequence[str], most: int, *, limit: int, measure: Measure) -> tuple[str, ...]:
    """Return the first messages of a text that is too long; the last one says what is missing."""
    missing = sum(map(len, texts[most:]))
    note = CUT_OFF.format(missing)
    room = max(1, limit - measure(note) - len("\n\n"))
    last, *rest = split(texts[most - 1], limit=room, measure=measure)
    note = CUT_OFF.format(missing + sum(map(len, rest)))
    return (*texts[: most - 1], f"{last}\n\n{note}")


def _size_of(part: Part, *, unknown: int) -> int:
    size = part.media.size if isinstance(part, ImagePart | AudioPart | FilePart) else 0
    return unknown if size is None else size


def _repeated(text: str) -> str:
    """Return the text with the repeat prefix; on its own line if the text begins with a block."""
    is_block = _BLOCK_START.match(text) is not None
    return f"{REPEAT_PREFIX.rstrip()}\n{text}" if is_block else f"{REPEAT_PREFIX}{text}"
