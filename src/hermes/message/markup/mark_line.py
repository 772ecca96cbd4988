"""Writes a line of runs in a platform's dialect: marks around words, and words that make no mark. Pure."""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from hermes.message.markup.dialect import CODE, LOOKS, PLAIN, Line, MarkupRow, Pair, TextRun

# A style that is open, or the address of a link.
_Style = int | str
_ADDRESS: Final = re.compile(r"https?://[^\s<>]+")
_RUN: Final = re.compile(r"([^\sA-Za-z0-9])\1*")
_OPENS_LINE: Final = re.compile(r"\s*(?:[#>*+•◦▪-]|\d+[.)])")


class Replacement:
    """Replaces texts by others in one pass, the longest first."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = table
        longest = sorted(table, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest)))

    def __call__(self, text: str) -> str:
        if not self._table:
            return text
        return self._pattern.sub(lambda found: self._table[found[0]], text)


class LineMarks:
    """What a row says about the words of a line, read once."""

    def __init__(self, row: MarkupRow) -> None:
        self.row = row
        pairs = {look: getattr(row, name) for name, look in LOOKS.items()}
        self.pairs: Mapping[int, Pair] = {look: pair for look, pair in pairs.items() if any(pair)}
        # Of each combination of styles, those that the platform has.
        self.styles = [
            tuple(style for style in self.pairs if look & style) for look in range(CODE * 2)
        ]
        replaced = dict(row.replaced)
        escaped = {char: f"{row.escape}{char}" for char in row.escaped} | replaced
        self.everywhere = Replacement(replaced)
        self.in_url = Replacement(row.in_url)
        self._outside_code = Replacement(escaped)
        self._in_words = Replacement(escaped | dict(row.in_words))
        self._code = "".join(row.code)
        self.opening, _, self._closing = row.link.partition("{words}")

    def write(self, line: Iterable[TextRun]) -> str:
        """Return a line in this dialect."""
        runs = list(line)
        if not any(run.url or self.styles[run.look] for run in runs):
            return self._unstyled(runs)
        return _LineWriter(self, runs).written()

    def _unstyled(self, line: Line) -> str:
        risky = self.risky(line)
        written, starts = [], True
        for run in line:
            written.append(self.words(run, risky=risky, starts=starts))
            starts = starts and (run.is_mark or not run.text.strip())
        return "".join(written).rstrip()

    def words(self, run: TextRun, *, risky: frozenset[str], starts: bool) -> str:
        """Return the words of a run so that they make no mark."""
        if run.is_mark:
            return run.text
        if run.look & CODE and CODE in self.pairs:
            return self.everywhere(run.text)
        if run.url:
            return self._in_words(run.text)
        text = self.row.start + run.text if starts and _OPENS_LINE.match(run.text) else run.text
        if not (self.row.escaped or risky):
            return self.everywhere(text)
        pieces, end = [], 0
        for found in _ADDRESS.finditer(text):
            pieces += [self._shown(text[end : found.start()], risky), self.everywhere(found[0])]
            end = found.end()
        return "".join((*pieces, self._shown(text[end:], risky)))

    def _shown(self, text: str, risky: frozenset[str]) -> str:
        text = self._outside_code(text)
        if risky.isdisjoint(text):
            return text

        def instead(found: re.Match[str]) -> str:
            before = text[max(0, found.start() - 1) : found.start()]
            after = text[found.end() : found.end() + 1]
            is_inside = before.isalnum() and after.isalnum()
            is_apart = before.isspace() and after.isspace()
            marks = found[0]
            # Code begins and ends anywhere, the other marks only beside words.
            is_safe = (is_inside or is_apart) and marks[0] not in self._code
            if marks[0] not in risky or is_safe:
                return marks
            template = self.row.literal[marks[0]]
            return (
                template.replace("{marks}", marks)
                if "{marks}" in template
                else template * len(marks)
            )

        return _RUN.sub(instead, text)

    def risky(self, line: Iterable[TextRun]) -> frozenset[str]:
        """Return the characters that would be read as a mark in this line; a single one is not."""
        if not self.row.literal:
            return frozenset()
        looks = PLAIN
        said = []
        for run in line:
            looks |= run.look
            if not run.is_mark:
                said.append(run.text)
        text = "".join(said)
        used = "".join(
            chain.from_iterable(pair for look, pair in self.pairs.items() if look & looks)
        )
        return frozenset(char for char in self.row.literal if char in used or text.count(char) > 1)

    def mark(self, style: _Style, *, opens: bool) -> str:
        """Return the mark that opens or closes a style or a link."""
        if isinstance(style, int):
            return self.pairs[style][0 if opens else 1]
        template = self.opening if opens else self._closing
        return template.replace("{url}", self.in_url(style))


class _LineWriter:
    """Writes one line: opens and closes marks between its runs."""

    def __init__(self, marks: LineMarks, line: Line) -> None:
        self._marks = marks
        self._line = line
        self._risky = marks.risky(line)
        self._out: list[str] = []
        self._open: list[_Style] = []
        # White space that is not written yet: marks close before it and open after it.
        self._space = ""

    def written(self) -> str:
        """Return the whole line."""
        starts = True
        for run, extents in zip(self._line, _extents(self._line, self._marks), strict=True):
            text = self._marks.words(run, risky=self._risky, starts=starts)
            starts = starts and (run.is_mark or not run.text.strip())
            is_whole = run.is_mark or bool(run.look & CODE)
            body = text if is_whole else text.strip()
            if not body:
                self._space += text
                continue
            before, _, after = ("", "", "") if is_whole else text.partition(body)
            self._space += before
            self._change(extents, body)
            self._out.append(body)
            self._space = after
        if not self._marks.row.toggles:
            self._close(reversed(self._open))
        text = "".join(self._out)
        is_code = bool(self._line) and self._line[-1].look & CODE
        return text if is_code else text.rstrip()

    def _change(self, wanted: Mapping[_Style, int], body: str) -> None:
        """Close and open marks before a text; the style that lasts longest is outermost."""
        if len(wanted) == len(self._open) and all(style in wanted for style in self._open):
            self._out.append(self._space)
            self._space = ""
            return
        closed = self._closed(wanted)
        opened = sorted(
            (style for style in wanted if style not in self._open),
            key=lambda style: (style is CODE, -wanted[style], _rank(style)),
        )
        self._open += opened
        self._close(closed)
        marks = "".join(self._marks.mark(style, opens=True) for style in opened)
        is_marked = any(isinstance(style, int) for style in opened)
        was_marked = any(isinstance(style, int) for style in closed)
        if self._space:
            self._out.append(self._space)
        elif (is_marked and self._is_near(self._last())) or (
            was_marked and (is_marked or self._is_near(body[0]))
        ):
            self._out.append(self._marks.row.apart)
        self._out.append(marks)
        self._space = ""

    def _is_near(self, char: str) -> bool:
        """Return whether a mark beside this character would not count."""
        return char.isalnum() or char in self._marks.row.literal

    def _close(self, styles: Iterable[_Style]) -> None:
        for number, style in enumerate(styles):
            mark = self._marks.mark(style, opens=False)
            # Two marks in a row could be read as one longer mark.
            if not number and isinstance(style, int) and mark.startswith(self._last() or " "):
                self._out.append(self._marks.row.apart)
            self._out.append(mark)

    def _last(self) -> str:
        return next((text[-1] for text in reversed(self._out) if text), "")

    def _closed(self, wanted: Mapping[_Style, int]) -> list[_Style]:
        closed: list[_Style] = []
        if self._marks.row.toggles:
            closed = [style for style in self._open if style not in wanted]
            self._open = [style for style in self._open if style in wanted]
            return closed
        is_more = any(style not in self._open for style in wanted)
        # Code is innermost: no mark opens inside it.
        while any(style not in wanted for style in self._open) or (is_more and CODE in self._open):
            closed.append(self._open.pop())
        return closed


def _rank(style: _Style) -> int:
    return int(style) if isinstance(style, int) else 0


def _extents(line: Line, marks: LineMarks) -> list[Mapping[_Style, int]]:
    """Return for each run its styles, and the last run up to which each of them lasts."""
    found: list[Mapping[_Style, int]] = []
    lasting: dict[_Style, int] = {}
    for at in range(len(line) - 1, -1, -1):
        run = line[at]
        if run.is_mark or run.text.strip():
            styles: list[_Style] = [] if run.is_mark else list(marks.styles[run.look])
            styles += [run.url] if run.url else []
            lasting = {style: lasting.get(style, at) for style in styles}
        found.append(lasting)
    return found[::-1]
