"""Formatted text as lines of IRC: bold, italic, underline, strikethrough and monospace codes. Pure.

A line here is a list of runs, each a style and a text; `line_cuts.py` splits it into lines that
fit. A line's styles end with it, so every line opens its own. Headings become bold lines, tables
aligned ones; IRC has no empty line, so none is sent between paragraphs.
"""

import re
from collections.abc import Iterable
from enum import IntFlag
from typing import Final

from hermes.message.markup.model import (
    Block,
    Break,
    Code,
    CodeBlock,
    Document,
    Emphasis,
    Heading,
    Items,
    Link,
    Paragraph,
    Picture,
    Quote,
    Rule,
    Span,
    Strike,
    Strong,
    Table,
    Text,
)
from hermes.message.markup.span_text import with_address, words
from hermes.message.markup.tables import as_lines


class Style(IntFlag):
    """The style of a run; styles can be combined."""

    PLAIN = 0
    BOLD = 1
    ITALIC = 2
    UNDERLINE = 4
    STRIKE = 8
    MONO = 16


Run = tuple[Style, str]
Runs = list[Run]

CODES: Final = {
    Style.BOLD: "\x02",
    Style.ITALIC: "\x1d",
    Style.UNDERLINE: "\x1f",
    Style.STRIKE: "\x1e",
    Style.MONO: "\x11",
}
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_STYLED: Final = re.compile(
    r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04(?:[0-9A-Fa-f]{6}(?:,[0-9A-Fa-f]{6})?)?|[\x00-\x08\x0b-\x1f\x7f]"
)
_TAB: Final = "    "


def clean(text: str) -> str:
    """Return a text without characters that a server or a client would interpret."""
    return _CONTROL.sub("", text.replace("\t", _TAB))


def plain_of(text: str) -> str:
    """Return the readable text of a line: without colours, styles and other control codes."""
    return _STYLED.sub("", text)


def as_runs(document: Document) -> list[Runs]:
    """Return the lines of a document; none of them is empty."""
    lines = [line for block in document for line in _block(block)]
    return [line for line in map(_tidy, lines) if any(text for _, text in line)]


def encode(line: Iterable[Run]) -> str:
    """Return a line with its codes; each code changes one style."""
    made, worn = [], Style.PLAIN
    for style, text in line:
        made += [code for one, code in CODES.items() if (style ^ worn) & one]
        made.append(text)
        worn = style
    return "".join(made)


def render(document: Document) -> str:
    """Return the text as IRC shows it, however long its lines are."""
    return "\n".join(map(encode, as_runs(document)))


def _tidy(line: Runs) -> Runs:
    """Return a line without empty runs and without trailing white space."""
    kept = [(style, clean(text)) for style, text in line]
    while kept and not kept[-1][1].strip():
        kept.pop()
    if kept:
        kept[-1] = (kept[-1][0], kept[-1][1].rstrip())
    return [run for run in kept if run[1]]


def _block(block: Block) -> list[Runs]:
    match block:
        case Paragraph(spans):
            return _lines(spans, Style.PLAIN)
        case Heading(level, spans):
            return _lines(spans, Style.BOLD | (Style.UNDERLINE if level == 1 else Style.PLAIN))
        case CodeBlock(text):
            return _mono(text.split("\n"))
        case Table():
            return _mono(as_lines(block))
        case Quote(blocks):
            return _before("> ", [line for inner in blocks for line in _block(inner)])
        case Items(items, start):
            return _items(items, start)
        case Rule():
            return [[(Style.PLAIN, "---")]]


def _mono(lines: Iterable[str]) -> list[Runs]:
    return [[(Style.MONO, line)] for line in lines]


def _before(mark: str, lines: list[Runs]) -> list[Runs]:
    return [[(Style.PLAIN, mark), *line] for line in lines]


def _items(items: tuple[tuple[Block, ...], ...], start: int | None) -> list[Runs]:
    lines: list[Runs] = []
    for number, blocks in enumerate(items, start=start or 0):
        mark = "• " if start is None else f"{number}. "
        first, *others = [line for inner in blocks for line in _block(inner)] or [[]]
        lines += _before(mark, [first])
        lines += _before(" " * len(mark), others)
    return lines


def _lines(spans: tuple[Span, ...], style: Style) -> list[Runs]:
    lines: list[Runs] = [[]]
    for run_style, text in _runs(spans, style):
        first, *others = text.split("\n")
        lines[-1].append((run_style, first))
        lines += [[(run_style, other)] for other in others]
    return lines


def _runs(spans: tuple[Span, ...], style: Style) -> Runs:
    return [run for span in spans for run in _span(span, style)]


def _span(span: Span, style: Style) -> Runs:
    match span:
        case Text(text):
            return [(style, text)]
        case Break():
            return [(style, "\n")]
        case Code(text):
            return [(style | Style.MONO, text)]
        case Strong(spans):
            return _runs(spans, style | Style.BOLD)
        case Emphasis(spans):
            return _runs(spans, style | Style.ITALIC)
        case Strike(spans):
            return _runs(spans, style | Style.STRIKE)
        case Link(url, spans):
            return _link(url, spans, style=style)
        case Picture(url, said):
            return [(style, with_address(said, url))]


def _link(url: str, spans: tuple[Span, ...], *, style: Style) -> Runs:
    said = words(spans, addresses=False)
    whole = with_address(said, url)
    behind = whole.removeprefix(said) if said.strip() and whole.startswith(said) else None
    return [(style, whole)] if behind is None else [*_runs(spans, style), (style, behind)]
