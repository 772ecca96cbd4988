"""HTML of a mail as the text that a person would read; every byte is looked at once. Pure."""

import re
from typing import Final

from hermes.message.markup.references import unescape

_SKIPPED: Final = frozenset({"style", "script", "head", "title", "template", "noscript"})
_LINES: Final = frozenset({"br", "div", "tr", "table", "ul", "ol", "hr", "section", "article", "header", "footer"})  # fmt: skip
_PARAGRAPHS: Final = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre"})
_TAG: Final = re.compile(r"/?([a-zA-Z][a-zA-Z0-9]{0,20})")
_SPACES: Final = re.compile(r"[ \t\r\n\f\u00a0]+")
MAX_CHARS: Final = 1_000_000


def to_text(source: str) -> str:
    """Return the words of an HTML text; what is quoted has `> ` before its lines."""
    source = source[:MAX_CHARS]
    page = _Page()
    at = 0
    while at < len(source):
        begin = source.find("<", at)
        if begin < 0:
            page.words(source[at:])
            break
        page.words(source[at:begin])
        at = _tag(source, begin, page)
    return page.text()


def _tag(source: str, begin: int, page: "_Page") -> int:
    """Read the tag that begins here; returns where the text goes on."""
    if source.startswith("<!--", begin):
        return _behind(source, "-->", begin)
    name = _TAG.match(source, begin + 1)
    if name is None:
        if source.startswith(("<!", "<?"), begin):
            return _behind(source, ">", begin)
        page.words("<")
        return begin + 1
    end = _behind(source, ">", begin)
    tag = name[1].lower()
    if tag in _SKIPPED and source[begin + 1] != "/" and source[end - 2] != "/":
        closing = re.compile(f"</{tag}", re.I).search(source, end)
        return len(source) if closing is None else _behind(source, ">", closing.start())
    page.tag(tag, is_end=source[begin + 1] == "/")
    return end


def _behind(source: str, mark: str, begin: int) -> int:
    found = source.find(mark, begin)
    return len(source) if found < 0 else found + len(mark)


class _Page:
    """The lines so far; `_quotes` says how deep in quotes the text is."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line: list[str] = []
        self._quotes = 0

    def words(self, text: str) -> None:
        if text:
            self._line.append(_SPACES.sub(" ", unescape(text)))

    def tag(self, name: str, *, is_end: bool) -> None:
        if name == "blockquote":
            self._end_line()
            self._quotes = min(20, max(0, self._quotes + (-1 if is_end else 1)))
        elif name in _PARAGRAPHS:
            self._end_line()
            self._gap()
        elif name in _LINES or (name == "br" and not is_end):
            self._end_line()
        elif name == "li" and not is_end:
            self._end_line()
            self._line.append("- ")
        elif name in {"td", "th"} and is_end:
            self._line.append("  ")

    def text(self) -> str:
        self._end_line()
        while self._lines and not self._lines[-1].strip("> "):
            self._lines.pop()
        return "\n".join(self._lines)

    def _gap(self) -> None:
        if self._lines and self._lines[-1].strip("> "):
            self._lines.append("> " * self._quotes if self._quotes else "")

    def _end_line(self) -> None:
        line = _SPACES.sub(" ", "".join(self._line)).strip()
        self._line.clear()
        if line:
            self._lines.append("> " * self._quotes + line)
