"""Converts HTML to text for a model, without what a person looking at it would not see.

Pure; the only reader of HTML, for web pages and for mails; the differences are a `HtmlStyle`. HTML
is untrusted, so this works without recursion, stops at its limits, and reads each character a fixed
number of times.
"""

import re
import unicodedata
from typing import Final
from urllib.parse import urljoin, urlsplit

import msgspec

from hermes.message.markup.html_tokens import End, Start, read_tokens
from hermes.message.markup.html_visibility import OPEN_ENDED, VOID, TextLayers, hides_all
from hermes.message.markup.references import unescape

MAX_TOKENS: Final = 100_000
# How much of a mail is read; it cannot have more tags than this.
MAX_MAIL_CHARS: Final = 1_000_000
# How much text is written.
MAX_MAIL_TEXT: Final = 200_000
_MAX_DEPTH: Final = 6
_MAX_LINK_CHARS: Final = 500
_MAX_TITLE_CHARS: Final = 300
_HEADINGS: Final = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS: Final = frozenset((
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
    "dialog", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header",
    "hgroup", "html", "legend", "main", "nav", "p", "section", "summary", "table", "tbody",
    "tfoot", "thead",
)) | frozenset(_HEADINGS)  # fmt: skip
_LISTS: Final = frozenset({"ol", "ul", "menu"})
# Elements that only set text apart inside a table cell, where a line is a row.
_INSIDE_CELLS: Final = frozenset({"div", "p"})
_CELLS: Final = frozenset({"td", "th"})
# Left out with their content; each must be closed by its own end tag.
_DROPPED: Final = frozenset({"canvas", "datalist", "object", "select", "svg", "template"})
_RAW_DROPPED: Final = frozenset({"iframe", "noembed", "noframes", "script", "style"})
# Each of these ends a paragraph whose end tag was left out.
_ENDS_PARAGRAPH: Final = _BLOCKS | _LISTS | _CELLS | {"hr", "li", "pre", "tr"}
_MAX_QUOTES: Final = 20
_SPACE: Final = re.compile(r"[ \t\r\n\f\v\u00a0]+")
# Line ends, and the joiners that Persian, Indic scripts and emoji need; no other invisible
# character.
_SHOWN: Final = frozenset("\n\t\u200c\u200d")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
# Tags and variation selectors, with which whole texts can be written invisibly.
_FIRST_TAG: Final = "\U000e0000"
_LAST_TAG: Final = "\U000e0fff"


class HtmlStyle(msgspec.Struct, frozen=True, kw_only=True):
    """How the parts of HTML are shown in a text.

    `gaps` are the elements with an empty line around them; other blocks begin a line. With
    `has_marks`, headings, links, pictures, rules and table cells are marked, as in Markdown; with
    `has_quotes`, quoted lines begin with `> `, as in mails.
    """

    gaps: frozenset[str]
    has_marks: bool = False
    has_quotes: bool = False


PAGE: Final = HtmlStyle(gaps=_BLOCKS | _LISTS | {"hr", "pre"}, has_marks=True)
# In mails every line may be a block, and tables are used for the layout.
MAIL: Final = HtmlStyle(gaps=frozenset({"p", "pre", *_HEADINGS}), has_quotes=True)


class PageText(msgspec.Struct, frozen=True):
    """A page's title and its text; `cut` is true if the page has more."""

    title: str
    text: str
    cut: bool


def read_page(page: str, *, url: str, max_chars: int) -> PageText:
    """Return the visible text of the page at `url`, at most `max_chars` of it."""
    writer = _Writer(PAGE, url=url, max_chars=max_chars)
    for count, token in enumerate(read_tokens(page)):
        if count >= MAX_TOKENS or writer.full:
            writer.cut = True
            break
        writer.take(token)
    text = writer.finish()
    return PageText(writer.title, text[:max_chars].rstrip(), writer.cut or len(text) > max_chars)


def read_mail_html(source: str) -> str:
    """Return the visible text of a mail's HTML; quoted lines begin with `> `."""
    writer = _Writer(MAIL, url="", max_chars=MAX_MAIL_TEXT)
    for token in read_tokens(source[:MAX_MAIL_CHARS]):
        if writer.full:
            break
        writer.take(token)
    return writer.finish()


def visible(text: str) -> str:
    """Return `text` without invisible characters: controls, tags, direction marks."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        for character in text
        if character in _SHOWN or unicodedata.category(character) not in _UNSEEN
        if not _FIRST_TAG <= character <= _LAST_TAG
    )


class _Writer:
    """Takes tokens and writes lines; knows the open lists, links and quotes, and no other nesting."""

    def __init__(self, style: HtmlStyle, *, url: str, max_chars: int) -> None:
        self.title = ""
        self.cut = False
        self._style = style
        self._quotes = 0
        self._base = url
        self._max_chars = max_chars
        self._lines: list[str] = []
        self._size = 0
        self._line: list[str] = []
        self._line_size = 0
        self._mark = ""
        self._lists: list[int | None] = []
        self._link: tuple[str, int] | None = None
        self._pre = 0
        self._in_row = False
        self._skipping = ""
        self._depth = 0
        self._layers = TextLayers()

    @property
    def full(self) -> bool:
        """Whether there is enough text."""
        return self._size + self._line_size > self._max_chars

    def take(self, token: Start | End | str) -> None:
        """Write what the token shows."""
        if self._skipping:
            self._skip(token)
        elif isinstance(token, str):
            self._write(token)
        elif isinstance(token, End):
            self._layers.follow(token)
            self._close(token.name)
        else:
            self._open(token)

    def finish(self) -> str:
        """Return the text."""
        self._end_link()
        self._end_line()
        while self._lines and not self._lines[-1].strip("> "):
            self._lines.pop()
        return "\n".join(self._lines).strip("\n")

    def _skip(self, token: Start | End | str) -> None:
        if isinstance(token, str):
            return
        if self._skipping == "p" and token.name in _ENDS_PARAGRAPH:
            self._skipping = ""
            self.take(token)
            return
        if token.name != self._skipping:
            return
        self._depth += 1 if isinstance(token, Start) else -1
        if self._depth == 0:
            self._skipping = ""

    def _open(self, tag: Start) -> None:
        name = tag.name
        if name in _DROPPED or (name not in OPEN_ENDED and hides_all(tag)):
            is_over = name in VOID or (name == "svg" and tag.closed)
            self._skipping, self._depth = ("", 0) if is_over else (name, 1)
            return
        self._layers.follow(tag)
        if tag.raw is not None:
            self._take_raw(tag)
        elif name == "a":
            self._start_link(tag.attributes.get("href", ""))
        elif name == "img":
            self._show_image(tag.attributes.get("alt", ""))
        elif name == "base":
            self._base = _target(self._base, tag.attributes.get("href", "")) or self._base
        elif name in _CELLS:
            self._start_cell()
        else:
            self._open_block(name)

    def _open_block(self, name: str) -> None:
        if name == "br":
            self._end_line()
        elif name == "hr":
            self._end_block(name)
            self._write("---" if self._style.has_marks else "")
            self._end_block(name)
        elif name == "pre":
            self._end_block(name)
            self._pre += 1
        elif name in _LISTS:
            self._end_line()
            self._lists.append(0 if name == "ol" else None)
        elif name == "li":
            self._start_item()
        elif name == "tr":
            self._end_line()
        elif name in _BLOCKS:
            self._start_block(name, quotes=1)
            if self._style.has_marks:
                self._mark = _HEADINGS.get(name, self._mark)

    def _close(self, name: str) -> None:
        if name == "a":
            self._end_link()
        elif name == "pre":
            self._end_block(name)
            self._pre = max(0, self._pre - 1)
        elif name in _LISTS:
            self._end_line()
            if self._lists:
                self._lists.pop()
            if not self._lists:
                self._end_block(name)
        elif name in {"li", "tr"}:
            self._end_line()
        elif name in _BLOCKS:
            self._start_block(name, quotes=-1)

    def _start_block(self, name: str, *, quotes: int) -> None:
        """End the previous block; `quotes` is the change of the quotation depth."""
        if self._in_row and name in _INSIDE_CELLS:
            self._write(" ")
        else:
            self._end_block(name)
        if name == "blockquote" and self._style.has_quotes:
            self._quotes = min(_MAX_QUOTES, max(0, self._quotes + quotes))

    def _end_block(self, name: str) -> None:
        if name in self._style.gaps:
            self._blank_line()
        else:
            self._end_line()

    def _take_raw(self, tag: Start) -> None:
        raw = tag.raw or ""
        if tag.name == "title":
            if not self.title:
                shown = _SPACE.sub(" ", visible(unescape(raw[:4000]))).strip()
                self.title = shown[:_MAX_TITLE_CHARS]
        elif tag.name not in _RAW_DROPPED:
            self._write(unescape(raw))

    def _start_item(self) -> None:
        self._end_line()
        indent = "  " * min(max(len(self._lists) - 1, 0), _MAX_DEPTH)
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number = number + 1
        self._mark = f"{indent}{'-' if number is None else f'{number}.'} "

    def _start_cell(self) -> None:
        if not self._style.has_marks:
            self._write(" ")
            return
        if self._in_row:
            self._put("| " if self._line and self._line[-1].endswith(" ") else " | ")
        self._in_row = True

    def _start_link(self, href: str) -> None:
        if self._style.has_marks:
            self._end_link()
            self._link = (href, len(self._line))

    def _end_link(self) -> None:
        """Write the target of the open link after its text, if it has any."""
        if self._link is None:
            return
        href, start = self._link
        self._link = None
        text = "".join(self._line[start:])
        target = _target(self._base, href) if text.strip() else ""
        if target:
            del self._line[start:]
            self._line_size -= len(text)
            before = " " if text[0] == " " else ""
            after = " " if text[-1] == " " else ""
            self._put(f"{before}[{text.strip()}]({target}){after}")

    def _show_image(self, alt: str) -> None:
        shown = _SPACE.sub(" ", visible(alt)).strip()
        if shown and self._style.has_marks and self._layers.is_shown:
            self._put(f"[image: {shown[:_MAX_TITLE_CHARS]}]")

    def _write(self, text: str) -> None:
        if not self._layers.is_shown:
            return
        self.cut = self.cut or len(text) > self._max_chars
        shown = visible(text[: self._max_chars + 1])
        if self._pre:
            first, *others = shown.split("\n")
            self._put(first)
            for line in others:
                if self.full:
                    break
                self._end_line(keep_empty=True)
                self._put(line)
            return
        shown = _SPACE.sub(" ", shown)
        ends_in_space = not self._line or self._line[-1].endswith(" ")
        self._put(shown.lstrip(" ") if ends_in_space else shown)

    def _put(self, text: str) -> None:
        if text:
            self._line.append(text)
            self._line_size += len(text)

    def _end_line(self, *, keep_empty: bool = False) -> None:
        """End the line, and a link with it; a link without text continues."""
        link = self._link
        is_empty = link is not None and not "".join(self._line[link[1] :]).strip()
        self._end_link()
        if link is not None and is_empty:
            self._link = (link[0], 0)
        text = "".join(self._line).rstrip()
        self._line.clear()
        self._line_size = 0
        self._in_row = False
        if text or keep_empty:
            self._keep("> " * self._quotes + self._mark + text)
            self._mark = ""

    def _blank_line(self) -> None:
        self._end_line()
        if self._lines and self._lines[-1].strip("> ") and not self._lists:
            self._keep("> " * self._quotes)

    def _keep(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1


def _target(base: str, href: str) -> str:
    """Return the web address of a link, or nothing if it is not worth showing."""
    try:
        target = urljoin(base, href.strip()) if href.strip() else ""
        is_web = urlsplit(target).scheme in {"http", "https"}
    except ValueError:
        return ""
    is_shown = is_web and len(target) <= _MAX_LINK_CHARS and target.isprintable()
    return target.replace(" ", "%20").replace(")", "%29") if is_shown else ""
