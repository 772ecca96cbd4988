"""The amount of text in blocks and spans, counted only as far as needed. Pure."""

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain
from typing import TypeVar

from hermes.message.markup.model import (
    Break,
    Code,
    CodeBlock,
    Document,
    Heading,
    Items,
    Paragraph,
    Picture,
    Quote,
    Rule,
    Span,
    Table,
    Text,
)

Part = TypeVar("Part")

# The marks and white space around a block, an item, a cell, a span.
_AROUND = 3


def is_heavy(blocks: Document, bound: int) -> bool:
    """Return whether there are more than `bound` characters, without reading the rest."""
    return any(total > bound for total in accumulate(weights(blocks)))


def likely(
    parts: tuple[Part, ...], weigh: Callable[[tuple[Part, ...]], Iterable[int]], *, bound: int
) -> int:
    """Return how many of the parts probably fit into this many characters."""
    total = 0
    for number, part in enumerate(parts):
        for weight in weigh((part,)):
            total += weight
            if total > bound:
                return number
    return len(parts)


def weights(blocks: Document) -> Iterator[int]:
    """Yield the weight of every small part of the blocks."""
    for block in blocks:
        yield _AROUND
        match block:
            case Paragraph() | Heading():
                yield from span_weights(block.spans)
            case CodeBlock():
                yield len(block.text)
            case Quote():
                yield from weights(block.blocks)
            case Items():
                yield from chain.from_iterable(map(weights, block.items))
            case Table():
                for cell in chain(block.head, *block.rows):
                    yield _AROUND
                    yield from span_weights(cell)
            case Rule():
                pass


def span_weights(spans: Iterable[Span]) -> Iterator[int]:
    """Yield the weight of every small part of the spans."""
    for span in spans:
        if isinstance(span, Text):
            yield len(span.text)
        elif isinstance(span, Code):
            yield len(span.text) + 2
        elif isinstance(span, Break | Picture):
            yield 1
        else:
            yield _AROUND
            yield from span_weights(span.spans)
