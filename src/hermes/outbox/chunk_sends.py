"""Converts an outbox row into the sends of its chunks: text, idempotency key, new message or edit.

Pure. The preview and the first chunk share one key. So on a platform that supports keys, a preview
whose id was lost and the reply that follows it are one message.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from hermes.message.event import ReplyHandle
from hermes.message.parts import (
    AudioPart,
    Choice,
    ChoicesPart,
    FilePart,
    ImagePart,
    Media,
    Part,
    TextPart,
    choices_of,
    text_of,
)
from hermes.outbox.chunks import Measure, split, utf8_length
from hermes.outbox.marks import (
    CUT_OFF,
    EDIT_REJECTED,
    FILE_REFUSED,
    IN_FILE,
    NOT_IN_FILE,
    POSSIBLE_REPEAT,
    REPEAT_PREFIX,
)
from hermes.ports.channel import Buttons, Delivery
from hermes.ports.outbox import DeliveryRecord
from hermes.texts.say import say

Chunk = tuple[Part, ...]
_Attached = ImagePart | AudioPart | FilePart

# The file with a reply that is too long for the chat; `ref` says that its bytes are the reply's own.
WHOLE_REPLY: Final = "whole-reply"
FILE_NAME: Final = "reply.md"
FILE_MIME: Final = "text/markdown"
# Of a text with more characters than this for each that a message holds, the rest is not read.
_MARKUP: Final = 2
_FRESH = ".fresh"
_KEY = re.compile(rf"(.{{1,100}})\.([0-9]{{1,4}})(?:{re.escape(_FRESH)})?", re.DOTALL)
# A list, a quote, code, a title or a table, which begin only at the start of a line.
_BLOCK_START = re.compile(r"[-+*]\s|\d{1,9}[.)]\s|#{1,6}\s|>|```|~~~|\|")


class ReplyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How a text becomes messages: the size of one, and how many there may be (`most`; 0: any number).

    `file_bytes` is how large a file the platform takes (0: none), `buttons` what can be pressed under a
    message.
    """

    max_chars: int
    measure: Measure = len
    most: int = 0
    file_bytes: int = 0
    buttons: Buttons | None = None

    @property
    def size(self) -> int:
        """The size of one message. Space for the repeat prefix is always reserved, so that chunk
        numbers do not change if it is needed."""
        return max(1, self.max_chars - max(len(REPEAT_PREFIX), self.measure(REPEAT_PREFIX)))


class ShownText(msgspec.Struct, frozen=True):
    """The messages of a text, and the file with all of it if they are not the whole text."""

    texts: tuple[str, ...]
    is_cut: bool = False
    file: FilePart | None = None


def shown_text(text: str, limits: ReplyLimits) -> ShownText:
    """Return the messages of a text; of one that is too long, the first ones and a file.

    Only as much of the text is read as these messages can show: splitting takes time, and other
    chats wait meanwhile.
    """
    most, size = limits.most, limits.size
    room = _MARKUP * size * (most + 1)
    head = text[:room] if most else text
    texts = split(head, limit=size, measure=limits.measure, first=most + 1 if most else 0)
    if not most or (len(texts) <= most and len(head) == len(text)):
        return ShownText(texts)
    bytes_ = utf8_length(text)
    file = None
    if bytes_ <= limits.file_bytes:
        file = FilePart(Media(FILE_MIME, name=FILE_NAME, size=bytes_, ref=WHOLE_REPLY))
    return ShownText(_cut_off(text, texts[:most], limits, has_file=file is not None), True, file)


def chunks_of(
    parts: tuple[Part, ...], limits: ReplyLimits, *, together: int = 0
) -> tuple[Chunk, ...]:
    """Return the messages that make up a reply: its text in pieces, then each attachment.

    If one message can hold `together` bytes of attachments, they go with the last piece of the
    text, and into more messages only if they are too large for it. A text of too many messages is
    cut, and the file with all of it is the first attachment. Choices are buttons under a text that is one
    message.
    """
    shown = shown_text(text_of(parts), limits)
    attached: list[_Attached] = [] if shown.file is None else [shown.file]
    attached += [part for part in parts if isinstance(part, _Attached)]
    chunks: list[Chunk] = [(TextPart(text),) for text in shown.texts]
    choices = choices_of(parts)
    if choices and len(chunks) == 1 and _fits(choices, limits.buttons):
        chunks = [(ChoicesPart(shown.texts[0], choices),)]
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


def _fits(choices: Sequence[Choice], buttons: Buttons | None) -> bool:
    """Return whether a platform can show choices as buttons: another may have taken its place."""
    if buttons is None or len(choices) > buttons.most:
        return False
    return all(
        len(one.label) <= buttons.label_chars and len(one.value.encode()) <= buttons.value_bytes
        for one in choices
    )


def is_whole_reply(part: Part) -> bool:
    """Return whether a part stands for the file with the whole reply."""
    return isinstance(part, FilePart) and part.media.ref == WHOLE_REPLY


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


def is_fresh_key(key: str) -> bool:
    """Return whether a key is that of a chunk that was sent again as a new message."""
    return key.endswith(_FRESH)


def compose(record: DeliveryRecord, chunk: Chunk, *, handle: ReplyHandle | None = None) -> Delivery:
    """Return the send of the row's current chunk."""
    parts = chunk
    if record.failure == FILE_REFUSED:
        parts = (TextPart(say(NOT_IN_FILE)),)
    elif record.failure == POSSIBLE_REPEAT:
        first = chunk[0]
        marked = TextPart(repeated(first.text)) if isinstance(first, TextPart) else None
        parts = (marked, *chunk[1:]) if marked else (TextPart(repeat_prefix()), *chunk)
    return Delivery(
        id=record.id,
        target=record.target,
        parts=parts,
        key=key_of(record),
        handle=handle,
        vanish_s=record.vanish_s,
    )


def _cut_off(
    text: str, texts: Sequence[str], limits: ReplyLimits, *, has_file: bool
) -> tuple[str, ...]:
    """Return the first messages of a text that is too long; the last one says where the rest is."""

    def note(last: str) -> str:
        left = len(text) - sum(len(one) + 1 for one in (*texts[:-1], last))
        return say(IN_FILE) if has_file else say(CUT_OFF, count=max(1, left))

    room = max(1, limits.size - limits.measure(note("")) - len("\n\n"))
    last = split(texts[-1], limit=room, measure=limits.measure, first=1)[0]
    return (*texts[:-1], f"{last}\n\n{note(last)}")


def _size_of(part: _Attached, *, unknown: int) -> int:
    size = part.media.size
    return unknown if size is None else size


def repeated(text: str) -> str:
    """Return the text with the repeat prefix; on its own line if the text begins with a block."""
    is_block = _BLOCK_START.match(text) is not None
    prefix = repeat_prefix()
    return f"{prefix.rstrip()}\n{text}" if is_block else f"{prefix}{text}"


def repeat_prefix() -> str:
    """Return the mark of a repeat; English where a translation needs more space than is reserved."""
    said = say(REPEAT_PREFIX)
    return said if utf8_length(said) <= len(REPEAT_PREFIX) else REPEAT_PREFIX
