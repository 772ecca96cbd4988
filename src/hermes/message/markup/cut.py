"""Cuts the spans of a paragraph where a reader would: after a line, a sentence, a word.

A link, code or bold words are cut only if they are too long for one chunk; then they are closed and
opened again. No visible character is split. Pure.
"""

import re

import msgspec

from hermes.message.graphemes import cut_before
from hermes.message.markup.chunk_space import ChunkSpace, most
from hermes.message.markup.model import (
    Break,
    Code,
    Emphasis,
    Link,
    Picture,
    Span,
    Strike,
    Strong,
    Text,
)
from hermes.message.markup.runs import tidy
from hermes.message.markup.weight import likely, span_weights

Spans = tuple[Span, ...]

_SENTENCE_END = re.compile(r"""[.!?\u2026]["')\]\u201d\u2019]*\s+|[\u3002\uff01\uff1f]+\s*""")
_WORD_END = re.compile(r"\s+")
# Text after the first unstyled words cannot change how the spans before them nest.
_NESTED_ANEW = 64


class _Place(msgspec.Struct, frozen=True, order=True):
    """A place between spans, or inside the words of one."""

    at: int
    offset: int = 0


_START = _Place(0)
# Follows spans whose end is not the end of a line.
_MORE = Picture("", "")


def cut_spans(spans: Spans, room: ChunkSpace[Span]) -> tuple[Spans, Spans]:
    """Return what goes into the chunk and what is left; nothing if a later chunk is better."""
    reach = _reach(spans, room)
    if reach.at >= len(spans):
        return spans, ()
    held = spans[reach.at]
    if not isinstance(held, Text | Break):
        before = room.after(spans[: reach.at])
        if not before.fits_alone((held,)):
            head, tail = _cut_inside(held, before)
            if head:
                return _parted((*spans[: reach.at], *head), (*tail, *spans[reach.at + 1 :]))
    place = _best(spans, room, reach) or _hard(spans, room, reach)
    return _parted(_up_to(spans, place), _from(spans, place)) if place else ((), spans)


def cut_text(text: str, room: ChunkSpace[str], *, guess: int) -> int:
    """Return how much of a text goes in: whole words, or else whole characters."""
    reach = most(len(text), lambda count: room.size((text[:count],)), limit=room.limit, guess=guess)
    if reach >= len(text):
        return reach
    ends = [match.end() for match in _WORD_END.finditer(text[: reach + 1])]
    whole = next((end for end in reversed(ends) if end <= reach), 0)
    return whole or whole_characters(text, reach)


def whole_characters(text: str, reach: int) -> int:
    """Return the last place up to `reach` that splits no character, 0 if there is none."""
    # The first item has nothing before it to cut from.
    return cut_before(f" {text[: reach + 1]}", reach + 1) - 1


def _reach(spans: Spans, room: ChunkSpace[Span]) -> _Place:
    guess = likely(spans, span_weights, bound=room.limit)
    count = most(len(spans), lambda n: room.size(spans[:n]), limit=room.limit, guess=guess)
    if count == len(spans) or not isinstance(held := spans[count], Text):
        return _Place(count)
    text = held.text
    behind = room.after(spans[:count])
    offset = most(
        len(text),
        lambda n: behind.size((Text(text[:n]),) if n else ()),
        limit=room.limit,
        guess=room.limit,
    )
    return _Place(count, offset)


def _best(spans: Spans, room: ChunkSpace[Span], reach: _Place) -> _Place | None:
    """Return the last place up to `reach` where a line, a sentence or a word ends."""
    lines = _last_line_end(spans, reach)
    if lines and _is_worth(spans, room, lines):
        return lines
    sentence = _last_end(spans, reach, _SENTENCE_END)
    if sentence and _is_worth(spans, room, sentence):
        return sentence
    word = max(filter(None, (_last_end(spans, reach, _WORD_END), lines)), default=None)
    return word if word and room.fits(_up_to(spans, word)) else None


def _is_worth(spans: Spans, room: ChunkSpace[Span], place: _Place) -> bool:
    return room.limit <= 2 * room.size(_up_to(spans, place)) <= 2 * room.limit


def _last_line_end(spans: Spans, reach: _Place) -> _Place | None:
    for at in range(min(reach.at, len(spans) - 1), 0, -1):
        if isinstance(spans[at], Break):
            return _Place(at)
    return None


def _last_end(spans: Spans, reach: _Place, pattern: re.Pattern[str]) -> _Place | None:
    for at in range(reach.at, -1, -1):
        span = spans[at] if at < len(spans) else None
        if not isinstance(span, Text):
            continue
        end = reach.offset if at == reach.at else len(span.text)
        # One more character shows whether the word that ends at the limit is whole.
        found = [match for match in pattern.finditer(span.text[: end + 1]) if match.start() <= end]
        for match in reversed(found):
            if (stop := min(match.end(), end)) > 0 or at:
                return _Place(at, stop)
    return None


def _hard(spans: Spans, room: ChunkSpace[Span], reach: _Place) -> _Place | None:
    """Return a place between spans or characters, if there is no better one."""
    if not room.is_empty and room.fits_alone(_first_word(spans)):
        return None
    if reach.offset and isinstance(held := spans[reach.at], Text):
        reach = _Place(reach.at, whole_characters(held.text, reach.offset))
    return reach if reach > _START else None


def _first_word(spans: Spans) -> Spans:
    first = spans[0]
    if not isinstance(first, Text):
        return (first,)
    return tuple(Text(word) for word in first.text.split(maxsplit=1)[:1])


def _up_to(spans: Spans, place: _Place) -> Spans:
    whole = spans[: place.at]
    held = spans[place.at] if place.offset else None
    taken = (*whole, Text(held.text[: place.offset])) if isinstance(held, Text) else whole
    return _stripped(taken)


def _from(spans: Spans, place: _Place) -> Spans:
    held = spans[place.at] if place.offset else None
    if not isinstance(held, Text):
        return spans[place.at :]
    left = held.text[place.offset :]
    return (*((Text(left),) if left else ()), *spans[place.at + 1 :])


def _stripped(spans: Spans) -> Spans:
    """Strip whitespace from the end."""
    while spans:
        last = spans[-1]
        if isinstance(last, Text) and (kept := last.text.rstrip()):
            return spans if kept == last.text else (*spans[:-1], Text(kept))
        if not isinstance(last, Text | Break):
            return spans
        spans = spans[:-1]
    return spans


def _parted(taken: Spans, rest: Spans) -> tuple[Spans, Spans]:
    if not taken:
        return (), rest
    at = 0
    while at < min(len(rest), _NESTED_ANEW) and not isinstance(rest[at], Text | Code):
        at += 1
    anew = tidy((*rest[: at + 1], _MORE))[:-1] if rest[at + 1 :] else tidy(rest)
    return taken, (*anew, *rest[at + 1 :])


def _cut_inside(span: Span, room: ChunkSpace[Span]) -> tuple[Spans, Spans]:
    match span:
        case Code():
            inside: ChunkSpace[str] = room.inside(lambda parts: Code("".join(parts)))
            at = cut_text(span.text, inside, guess=room.limit)
            if not span.text[:at].strip():
                return (), (span,)
            return (Code(span.text[:at]),), (Code(span.text[at:]),)
        case Link():
            url = span.url
            taken, rest = cut_spans(span.spans, room.inside(lambda inner: Link(url, inner)))
            return ((Link(url, taken),) if taken else ()), (Link(url, rest),)
        case Strong() | Emphasis() | Strike():
            style = type(span)
            taken, rest = cut_spans(span.spans, room.inside(style))
            return ((style(taken),) if taken else ()), (style(rest),)
        case Text() | Break() | Picture():
            return (), (span,)
