"""Formatted text with marks around its words, as chat platforms write it: one walk of the model, and a
row of a manifest for each dialect. Pure.

`Marks` turns a document into lines of runs and writes each line by its `MarkupRow`. No style goes over
the end of a line, no mark touches a space, and text that would be read as a mark is written otherwise.
What has blocks of its own, like HTML, is `html.py`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from hermes.message.markup.dialect import (
    BOLD,
    CODE,
    ITALIC,
    LOOKS,
    PLAIN,
    STRIKE,
    Line,
    MarkupRow,
    Pair,
    StyleName,
    TextRun,
)
from hermes.message.markup.mark_line import LineMarks
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
from hermes.message.markup.tables import as_lines

NOTHING: Final = "\u200b"
_NONE: Final[Pair] = ("", "")
_NOT_LANGUAGE: Final = re.compile(r"[^A-Za-z0-9_+#.-]")
_BREAK: Final = TextRun("\n")
_SPAN_LOOKS: Final[Mapping[type, int]] = {
    Strong: BOLD,
    Emphasis: ITALIC,
    Strike: STRIKE,
}


class Marks:
    """One dialect, read once."""

    def __init__(self, row: MarkupRow) -> None:
        self.row = row
        self._words = LineMarks(row)
        self._title = _combined(row.title)
        self._heading = _combined(row.heading)

    def write(self, document: Document) -> str:
        """Return the document in this dialect."""
        return "\n\n".join(self.blocks(document))

    def blocks(self, document: Document) -> list[str]:
        """Return each block of the document in this dialect; none of them is empty."""
        written = ("\n".join(map(self.line, self._block(block))) for block in document)
        return [text for text in written if text.strip()]

    def lines(self, document: Document) -> list[Line]:
        """Return the lines of the document as runs, with an empty one between blocks."""
        return self._joined(document, depth=0, in_quote=False)

    def escape(self, text: str) -> str:
        """Return a text that makes no mark in this dialect."""
        return "\n".join(self.line([TextRun(line)]) for line in text.split("\n"))

    def _joined(self, blocks: Iterable[Block], *, depth: int, in_quote: bool) -> list[Line]:
        lines: list[Line] = []
        for block in blocks:
            found = self._block(block, depth=depth, in_quote=in_quote)
            lines += [[], *found] if lines and found else found
        return lines

    def _block(self, block: Block, *, depth: int = 0, in_quote: bool = False) -> list[Line]:
        match block:
            case Paragraph(spans):
                return self._paragraph(spans, PLAIN)
            case Heading(level, spans):
                if level <= self.row.hashes:
                    first, *others = self._paragraph(spans, PLAIN)
                    return [[_mark(f"{'#' * level} "), *first], *others]
                return self._paragraph(spans, self._title if level == 1 else self._heading)
            case CodeBlock(text, language):
                return self._code(text, _NOT_LANGUAGE.sub("", language))
            case Quote(blocks):
                return self._quote(blocks, depth=depth, in_quote=in_quote)
            case Items():
                return list(self._items(block, depth=depth, in_quote=in_quote))
            case Table():
                return self._table(block)
            case Rule():
                return [[_mark(self.row.rule)]]

    def _table(self, table: Table) -> list[Line]:
        if self.row.table == "code":
            return self._code("\n".join(as_lines(table)), "")
        lines = as_lines(table, width=0) if self.row.table == "cells" else as_lines(table)
        return [[TextRun(line)] for line in lines]

    def _code(self, text: str, language: str) -> list[Line]:
        if not text.strip():
            return []
        pair = self.row.fence_named if language and any(self.row.fence_named) else self.row.fence
        if not any(pair):
            return [[TextRun(line, CODE)] for line in text.split("\n")]
        close = pair[1].strip()
        while close in self._words.everywhere(text):
            text = text.replace(close[:2], f"{close[0]}{NOTHING}{close[1:2]}")
        before, after = (mark.replace("{language}", language).split("\n") for mark in pair)
        first, *others = text.split("\n")
        lines = [[_mark(mark)] for mark in before]
        lines[-1].append(self._verbatim(first))
        lines += [[self._verbatim(line)] for line in others]
        lines[-1].append(_mark(after[0]))
        return [*lines, *([_mark(mark)] for mark in after[1:])]

    def _verbatim(self, line: str) -> TextRun:
        return TextRun(self._words.everywhere(line), CODE, is_mark=True)

    def _quote(self, blocks: Document, *, depth: int, in_quote: bool) -> list[Line]:
        row = self.row
        lines = self._joined(blocks, depth=depth, in_quote=True)
        if not lines or (in_quote and not row.quotes_nest):
            return lines
        if any(row.quoted):
            lines[0] = [_mark(row.quoted[0]), *lines[0]]
            lines[-1] = [*lines[-1], _mark(row.quoted[1])]
            return lines
        # Where there are no quotations in lists, the mark is only shown.
        is_real = row.quotes_nest or not depth
        mark = _mark(row.quote if is_real else self._words.everywhere(row.quote))
        return [[mark, *line] for line in lines]

    def _items(self, items: Items, *, depth: int, in_quote: bool) -> Iterator[Line]:
        bullets, indent = self.row.bullets, _mark(self.row.indent)
        is_fenced = any(self.row.fence)
        for number, blocks in enumerate(items.items, start=items.start or 0):
            is_bullet = items.start is None
            line = [_mark(bullets[min(depth, len(bullets) - 1)] if is_bullet else f"{number}. ")]
            is_first = True
            for block in blocks:
                is_code = isinstance(block, CodeBlock) or (
                    isinstance(block, Table) and self.row.table == "code"
                )
                keeps = is_code and is_fenced
                for more in self._block(block, depth=depth + 1, in_quote=in_quote):
                    # Code that is fenced begins on its own line, and its lines stay as they are.
                    if is_first and not keeps and not isinstance(block, Items):
                        line += more
                    else:
                        yield line
                        line = more if keeps else [indent, *more]
                    is_first = False
            yield line

    def _paragraph(self, spans: Iterable[Span], look: int) -> list[Line]:
        lines: list[Line] = [[]]
        for run in self._runs(spans, look):
            if "\n" not in run.text:
                lines[-1].append(run)
                continue
            first, *others = (
                msgspec.structs.replace(run, text=text) for text in run.text.split("\n")
            )
            lines[-1].append(first)
            lines += [[other] for other in others]
        return lines

    def _runs(self, spans: Iterable[Span], look: int) -> list[TextRun]:
        found: list[TextRun] = []
        for span in spans:
            match span:
                case Text(text):
                    found.append(TextRun(text, look))
                case Break():
                    found.append(_BREAK)
                case Code(text):
                    found.append(self._inline_code(text, look))
                case Link(url, inner):
                    found += self._link(url, self._runs(inner, look), look)
                case Picture(url, words):
                    found += self._link(url, [TextRun(words, look)], look)
                case Strong(inner) | Emphasis(inner) | Strike(inner):
                    found += self._runs(inner, look | _SPAN_LOOKS[type(span)])
        return found

    def _inline_code(self, text: str, look: int) -> TextRun:
        close = self._words.pairs.get(CODE, _NONE)[1]
        # What would end the code is written as words: they matter more than the style.
        if not text.strip() or (close and close in self._words.everywhere(text)):
            return TextRun(text, look)
        return TextRun(text, CODE if self._is_alone(text) else look | CODE)

    def _is_alone(self, code: str) -> bool:
        """Return whether nothing may be around code: the platform would read marks inside it."""
        return self.row.code_alone or any(
            char in code for char in (*self.row.escaped, *self.row.literal)
        )

    def _link(self, url: str, runs: list[TextRun], look: int) -> Iterator[TextRun]:
        said = "".join(run.text for run in runs).replace("\n", " ").strip()
        address = url if url.startswith(self.row.links) else url.partition(":")[2]
        if not said or said == url:
            yield TextRun(self.row.bare.replace("{url}", self._words.in_url(address)), is_mark=True)
        elif address != url or (said == url.partition("//")[2] and not self._words.opening):
            yield from (TextRun(" ", look) if run.text == "\n" else run for run in runs)
            if address not in said and said != url.partition("//")[2]:
                yield TextRun(f" ({address})", look)
        elif self.row.link_is_plain:
            yield TextRun(said, PLAIN, url)
        else:
            words = [msgspec.structs.replace(run, text=run.text.replace("\n", " ")) for run in runs]
            if not self._words.opening:
                yield from words
                yield _mark(self._words.mark(url, opens=False))
                return
            inside = [not (run.look & CODE and self._is_alone(run.text)) for run in runs]
            for run, is_inside in zip(words, inside, strict=True):
                yield msgspec.structs.replace(run, url=url) if is_inside else run
            if not any(inside):
                yield TextRun(f" ({url})", look)

    def codes(self, look: int) -> int:
        """Return how many codes a change of these styles takes, where codes toggle."""
        return len(self._words.styles[look])

    def line(self, line: Iterable[TextRun]) -> str:
        """Return a line in this dialect."""
        return self._words.write(line)


def _mark(text: str) -> TextRun:
    return TextRun(text, is_mark=True)


def _combined(names: Iterable[StyleName]) -> int:
    look = PLAIN
    for name in names:
        look |= LOOKS[name]
    return look
