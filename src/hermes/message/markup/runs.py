"""Spans as a flat row of pieces, each with its styles, and the canonical tree of a row.

Markdown can express the same thing in many nestings; `tidy` returns the one that every parse, split
and write agrees on: no empty or doubled styles, neighbours joined, the longest style outermost, no
whitespace at the ends of lines. Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Union

import msgspec

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

Leaf = Union[Text, Break, Code, Picture]  # noqa: UP007 - as in the model
Styled = type[Strong] | type[Emphasis] | type[Strike]
# A style's class, or the address of a link.
Style = Styled | str

_SEEN_FIRST: tuple[Style, ...] = (Strong, Emphasis, Strike)


class Run(msgspec.Struct, frozen=True):
    """A leaf and all styles around it."""

    leaf: Leaf
    styles: frozenset[Style] = frozenset()


def tidy(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the canonical spans with the same meaning."""
    return _build(_joined(_trimmed(list(_flat(spans, frozenset())))), frozenset())


def _flat(spans: Iterable[Span], styles: frozenset[Style]) -> Iterator[Run]:
    for span in spans:
        if isinstance(span, Link):
            # Nobody can follow a link inside a link: the outer one is kept.
            is_inside = any(isinstance(style, str) for style in styles)
            yield from _flat(span.spans, styles if is_inside else styles | {span.url})
        elif isinstance(span, Strong | Emphasis | Strike):
            yield from _flat(span.spans, styles | {type(span)})
        else:
            yield Run(span, styles)


def _trimmed(runs: list[Run]) -> list[Run]:
    """Strip whitespace from both ends of every line, and drop lines that are empty then."""
    lines: list[list[Run]] = [[]]
    breaks: list[Run] = []
    for run in runs:
        if isinstance(run.leaf, Break):
            breaks.append(run)
            lines.append([])
        elif not isinstance(run.leaf, Text) or run.leaf.text:
            lines[-1].append(run)
    trimmed: list[Run] = []
    for line in filter(None, map(_trimmed_line, lines)):
        if trimmed:
            trimmed.append(Run(Break(), trimmed[-1].styles & line[0].styles))
        trimmed.extend(line)
    return trimmed


def _trimmed_line(line: list[Run]) -> list[Run]:
    first, last = 0, len(line)
    while first < last and _is_blank(line[first].leaf):
        first += 1
    while last > first and _is_blank(line[last - 1].leaf):
        last -= 1
    kept = line[first:last]
    if kept and isinstance(head := kept[0].leaf, Text):
        kept[0] = Run(Text(head.text.lstrip()), kept[0].styles)
    if kept and isinstance(tail := kept[-1].leaf, Text):
        kept[-1] = Run(Text(tail.text.rstrip()), kept[-1].styles)
    return kept


def _is_blank(leaf: Leaf) -> bool:
    return isinstance(leaf, Text) and not leaf.text.strip()


def _joined(runs: list[Run]) -> list[Run]:
    """Join neighbours with the same styles."""
    joined: list[Run] = []
    texts: list[str] = []
    for run in runs:
        before = joined[-1] if joined else None
        if before is None or before.styles != run.styles or not _alike(before.leaf, run.leaf):
            _close(joined, texts)
            joined.append(run)
        if isinstance(run.leaf, Text | Code):
            texts.append(run.leaf.text)
    _close(joined, texts)
    return joined


def _alike(one: Leaf, other: Leaf) -> bool:
    return type(one) is type(other) and isinstance(one, Text | Code)


def _close(joined: list[Run], texts: list[str]) -> None:
    if len(texts) > 1:
        kind = Code if isinstance(joined[-1].leaf, Code) else Text
        joined[-1] = Run(kind("".join(texts)), joined[-1].styles)
    texts.clear()


def _build(runs: Sequence[Run], inside: frozenset[Style]) -> tuple[Span, ...]:
    spans: list[Span] = []
    at = 0
    while at < len(runs):
        run = runs[at]
        styles = run.styles - inside
        # A style neither begins nor ends at a line end: its marks would not work there.
        if not styles or isinstance(run.leaf, Break):
            spans.append(run.leaf)
            at += 1
            continue
        end, style = max(
            ((_extent(runs, at, style), style) for style in sorted(styles, key=_rank)),
            key=lambda found: found[0],
        )
        spans.append(_wrapped(style, _build(runs[at:end], inside | {style})))
        at = end
    return tuple(spans)


def _rank(style: Style) -> tuple[int, str]:
    return (0, style) if isinstance(style, str) else (1 + _SEEN_FIRST.index(style), "")


def _extent(runs: Sequence[Run], at: int, style: Style) -> int:
    end = at
    while end < len(runs) and style in runs[end].styles:
        end += 1
    return end - 1 if isinstance(runs[end - 1].leaf, Break) else end


def _wrapped(style: Style, spans: tuple[Span, ...]) -> Span:
    return Link(style, spans) if isinstance(style, str) else style(spans)
