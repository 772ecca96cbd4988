"""Splits Markdown into chunks that a platform accepts, each of them complete Markdown.

Cuts between blocks, then between items, rows and lines, then inside a paragraph (`cut.py`). The
same text, limit and measure always give the same chunks, so a chunk's number names it across
restarts. Pure.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from hermes.message.markup.chunk_space import ChunkSpace, most
from hermes.message.markup.cut import cut_spans, cut_text
from hermes.message.markup.lighten import lighten
from hermes.message.markup.model import (
    Block,
    CodeBlock,
    Document,
    Heading,
    Items,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
    Text,
)
from hermes.message.markup.parse import ParsedMarkdown, parse
from hermes.message.markup.runs import tidy
from hermes.message.markup.weight import is_heavy, likely, weights
from hermes.message.markup.write import write

Measure = Callable[[str], int]
Parted = tuple[Document, Document]
Row = tuple[tuple[Span, ...], ...]
Inner = TypeVar("Inner")

# Escapes at a cut may make a chunk longer than its parts were; then it is cut again, shorter.
_SLACKS = (0, 1, 2, 4, 8, 16)


def split(text: str, *, limit: int, measure: Measure = len, first: int = 0) -> tuple[str, ...]:
    """Return a Markdown text as chunks whose measure is at most `limit`; itself if it fits.

    `first` returns only so many of them, in the time that those take (0: all).
    """
    known = ParsedMarkdown(text)
    if measure(known) <= limit:
        return (text,)
    chunks: list[str] = []
    rest = _read(known)
    while rest and (not first or len(chunks) < first):
        chunk, rest = _next(rest, limit=limit, measure=measure)
        chunks.append(chunk)
    return tuple(chunks)


def _read(text: str) -> Document:
    # A text of only link definitions would be empty; its author meant the words.
    return parse(text) or (Paragraph((Text(" ".join(text.split())),)),)


def _next(document: Document, *, limit: int, measure: Measure) -> tuple[str, Document]:
    for slack in _SLACKS:
        taken, rest = take(document, _room(limit - slack, measure))
        chunk = write(taken)
        if taken and measure(chunk) <= limit:
            return chunk, rest
    return _forced(document, limit=limit, measure=measure)


def _forced(document: Document, *, limit: int, measure: Measure) -> tuple[str, Document]:
    """Take at least one character, even if not a single visible one fits."""
    first, others = document[0], document[1:]
    while lighter := lighten(first):
        first, others = lighter[0], (*lighter[1:], *others)
    text = first.spans[0] if isinstance(first, Paragraph) else None
    if not isinstance(first, Paragraph) or not isinstance(text, Text):
        return write((first,)), others
    said = text.text

    def chunk(count: int) -> str:
        return write((Paragraph((Text(said[:count]),)),)) if count else ""

    count = max(1, most(len(said), lambda n: measure(chunk(n)), limit=limit, guess=limit))
    left = (*((Text(said[count:]),) if said[count:] else ()), *first.spans[1:])
    return chunk(count), (*_made(Paragraph, tidy(left)), *others)


def _room(limit: int, measure: Measure) -> ChunkSpace[Block]:
    bound = 2 * limit + 64

    def size(blocks: Document) -> int:
        if is_heavy(blocks, bound):
            return bound
        # Most of these are tries that are never sent: only the chunk itself is parsed again
        # (`_next`).
        return measure(ParsedMarkdown(write(blocks), blocks)) if blocks else 0

    return ChunkSpace(size=size, alone=size, limit=limit)


def take(blocks: Document, room: ChunkSpace[Block]) -> Parted:
    """Return the blocks, or parts of them, that go into the chunk, and those that are left."""
    guess = likely(blocks, weights, bound=room.limit)
    count = most(len(blocks), lambda n: room.size(blocks[:n]), limit=room.limit, guess=guess)
    taken, rest = blocks[:count], blocks[count:]
    if not rest:
        return taken, ()
    if taken and room.is_half_full(taken):
        return _before_titles(taken, rest, room)
    head, tail = _part(rest[0], room.after(taken))
    if head:
        return (*taken, *head), (*tail, *rest[1:])
    if taken or not room.is_empty:
        return _before_titles(taken, rest, room)
    lighter = lighten(rest[0])
    return ((), blocks) if lighter is None else take((*lighter, *rest[1:]), room)


def _before_titles(taken: Document, rest: Document, room: ChunkSpace[Block]) -> Parted:
    """Leave titles to the text that they belong to."""
    count = len(taken)
    while count and isinstance(taken[count - 1], Heading):
        count -= 1
    if not count and room.is_empty:
        return taken, rest
    return taken[:count], (*taken[count:], *rest)


def _part(block: Block, room: ChunkSpace[Block]) -> Parted:
    match block:
        case Paragraph():
            taken, left = cut_spans(block.spans, room.inside(Paragraph))
            return _made(Paragraph, taken), _made(Paragraph, left)
        case Heading():
            title = partial(Heading, block.level)
            taken, left = cut_spans(block.spans, room.inside(title))
            return _made(title, taken), _made(title, left)
        case CodeBlock():
            return _part_of_code(block, room)
        case Quote():
            inner, rest = take(block.blocks, room.inside(Quote))
            return _made(Quote, inner), _made(Quote, rest)
        case Items():
            return _part_of_items(block, room)
        case Table():
            return _part_of_table(block, room)
        case Rule():
            return (), (block,)


def _made(make: Callable[[tuple[Inner, ...]], Block], inner: tuple[Inner, ...]) -> Document:
    return (make(inner),) if inner else ()


def _part_of_items(block: Items, room: ChunkSpace[Block]) -> Parted:
    items, start = block.items, block.start
    inside: ChunkSpace[Document] = room.inside(lambda some: Items(some, start))
    guess = likely(items, lambda some: weights(some[0]), bound=room.limit)
    count = most(len(items), lambda n: inside.size(items[:n]), limit=room.limit, guess=guess)
    number = None if start is None else start + max(1, count)
    if count:
        left = items[count:]
        return (Items(items[:count], start),), ((Items(left, number),) if left else ())
    if not room.is_empty and inside.fits_alone(items[:1]):
        return (), (block,)
    taken, rest = take(items[0], room.inside(lambda blocks: Items((blocks,), start)))
    if not taken:
        return (), (block,)
    # The rest of the item is not an item of its own.
    more = (Items(items[1:], number),) if items[1:] else ()
    return (Items((taken,), start),), (*rest, *more)


def _part_of_table(block: Table, room: ChunkSpace[Block]) -> Parted:
    rows = block.rows
    inside: ChunkSpace[Row] = room.inside(lambda some: Table(block.head, some))
    count = most(len(rows), lambda n: inside.size(rows[:n]), limit=room.limit, guess=8)
    if not count:
        return (), (block,)
    left = rows[count:]
    return (Table(block.head, rows[:count]),), ((Table(block.head, left),) if left else ())


def _part_of_code(block: CodeBlock, room: ChunkSpace[Block]) -> Parted:
    language = block.language
    lines = block.text.lstrip("\n").split("\n")
    inside: ChunkSpace[str] = room.inside(lambda some: CodeBlock("\n".join(some), language))
    count = most(len(lines), lambda n: inside.size(tuple(lines[:n])), limit=room.limit, guess=8)
    if count:
        return _codes("\n".join(lines[:count]), "\n".join(lines[count:]), language=language)
    if not room.is_empty and inside.fits_alone((lines[0],)):
        return (), (block,)
    at = cut_text(lines[0], inside, guess=room.limit)
    if not lines[0][:at].strip():
        return (), (block,)
    rest = "\n".join((lines[0][at:], *lines[1:]))
    return _codes(lines[0][:at], rest, language=language)


def _codes(head: str, tail: str, *, language: str) -> Parted:
    blocks = (CodeBlock(text.strip("\n"), language) for text in (head, tail))
    first, second = blocks
    return (first,), ((second,) if second.text.strip() else ())
