"""Removes formatting around a text if not even its beginning fits into a chunk. Pure."""

from itertools import zip_longest

from hermes.message.markup.model import (
    Block,
    Break,
    Code,
    CodeBlock,
    Document,
    Heading,
    Items,
    Link,
    Paragraph,
    Picture,
    Quote,
    Rule,
    Span,
    Strong,
    Table,
    Text,
)
from hermes.message.markup.runs import tidy
from hermes.message.markup.span_text import with_address


def lighten(block: Block) -> Document | None:
    """Return blocks that need less room around their words, None if there are no such blocks."""
    match block:
        case Paragraph():
            return _paragraph(block.spans)
        case Heading():
            return (Paragraph(block.spans),)
        case CodeBlock():
            return (CodeBlock(block.text),) if block.language else _code(block.text)
        case Quote():
            first, *others = block.blocks
            return (first, *((Quote(tuple(others)),) if others else ()))
        case Items():
            left = block.items[1:]
            start = None if block.start is None else block.start + 1
            return (*block.items[0], *((Items(left, start),) if left else ()))
        case Table():
            return _rows(block)
        case Rule():
            return None


def _paragraph(spans: tuple[Span, ...]) -> Document | None:
    first, others = spans[0], spans[1:]
    match first:
        case Text():
            return None
        case Code():
            lighter: tuple[Span, ...] = (Text(first.text),)
        case Picture():
            lighter = (Text(with_address(first.words, first.url)),)
        case Link():
            lighter = (*first.spans, Text(f" ({first.url})"))
        case Break():
            lighter = ()
        case _:
            lighter = first.spans
    whole = (*tidy(lighter), *others)
    return (Paragraph(whole),) if whole else ()


def _code(text: str) -> Document:
    return _words(tuple(Text(line) for line in text.split("\n")))


def _words(lines: tuple[Span, ...]) -> Document:
    spans = tidy(span for line in lines for span in (line, Break()))
    return (Paragraph(spans),) if spans else ()


def _rows(table: Table) -> Document:
    rows: list[Block] = []
    for row in table.rows or (((),) * len(table.head),):
        spans: list[Span] = []
        for name, value in zip_longest(table.head, row, fillvalue=()):
            if name:
                spans += (Strong(name), Text(": "))
            spans += (*value, Break())
        if said := tidy(spans):
            rows.append(Paragraph(said))
    return tuple(rows)
