"""A web page as text that a model can read: headings, links, lists and tables, and nothing hidden.

Pure; it sits under `web_fetch` and gets the page as text already. The page is hostile until shown
otherwise, so it works without recursion, stops at its limits, and leaves out what a person looking
at the page would not see.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin, urlsplit

import msgspec

from hermes.message.markup.references import unescape
from hermes.tools.builtin.html_tokens import End, Start, read_tokens

MAX_TOKENS: Final = 100_000
_MAX_DEPTH: Final = 6
_MAX_LINK_CHARS: Final = 500
_MAX_TITLE_CHARS: Final = 300
_HEADINGS: Final = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS: Final = frozenset(
    {
        *(
            "address",
            "article",
            "aside",
            "blockquote",
            "body",
            "caption",
            "dd",
            "details",
            "dialog",
        ),
        *(
            "div",
            "dl",
            "dt",
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "form",
            "header",
            "html",
        ),
        *("hgroup", "legend", "main", "nav", "p", "section", "summary", "table", "tbody", "tfoot"),
        *("thead", *_HEADINGS),
    }
)
_LISTS: Final = frozenset({"ol", "ul", "menu"})
# What only sets text apart inside a table's cell, where a line is a row.
_INSIDE_CELLS: Final = frozenset({"div", "p"})
_CELLS: Final = frozenset({"td", "th"})
# Left out with all that they hold; each has to be closed by its own end tag.
_DROPPED: Final = frozenset({"canvas", "datalist", "object", "select", "svg", "template"})
_RAW_DROPPED: Final = frozenset({"iframe", "noembed", "noframes", "script", "style"})
# Elements that may be hidden: those whose end tag may not be left out.
_HIDEABLE: Final = frozenset(
    {
        *("a", "article", "aside", "b", "div", "em", "figure", "footer", "form", "header", "i"),
        *("label", "main", "nav", "ol", "section", "small", "span", "strong", "table", "u", "ul"),
        *_HEADINGS,
    }
)
_HIDDEN_STYLE: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity)\s*:\s*0(?![.\d]*[1-9])",
    re.IGNORECASE,
)
_SPACE: Final = re.compile(r"[ \t\r\n\f\v\u00a0]+")
# Line ends, and the joiners that Persian, Indic scripts and emoji need; no other invisible sign.
_SHOWN: Final = frozenset("\n\t\u200c\u200d")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
# Tags and selectors, by which whole texts are written invisibly.
_FIRST_TAG: Final = "\U000e0000"
_LAST_TAG: Final = "\U000e0fff"


class PageText(msgspec.Struct, frozen=True):
    """A page's title and its text; `cut` tells that the page says more."""

    title: str
    text: str
    cut: bool


def read_page(page: str, *, url: str, max_chars: int) -> PageText:
    """Return what the page at `url` shows, at most `max_chars` of it."""
    writer = _Writer(url=url, max_chars=max_chars)
    for count, token in enumerate(read_tokens(page)):
        if count >= MAX_TOKENS or writer.full:
            writer.cut = True
            break
        writer.take(token)
    text = writer.finish()
    return PageText(writer.title, text[:max_chars].rstrip(), writer.cut or len(text) > max_chars)


def visible(text: str) -> str:
    """Return `text` without characters that nobody sees: controls, tags, direction marks."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        for character in text
        if character in _SHOWN or unicodedata.category(character) not in _UNSEEN
        if not _FIRST_TAG <= character <= _LAST_TAG
    )


class _Writer:
    """Takes tokens and writes lines; knows the open lists and links, and no other nesting."""

    def __init__(self, *, url: str, max_chars: int) -> None:
        self.title = ""
        self.cut = False
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

    @property
    def full(self) -> bool:
        """Whether there is text enough."""
        return self._size + self._line_size > self._max_chars

    def take(self, token: Start | End | str) -> None:
        """Write what the token shows."""
        if self._skipping:
            self._skip(token)
        elif isinstance(token, str):
            self._write(token)
        elif isinstance(token, End):
            self._close(token.name)
        else:
            self._open(token)

    def finish(self) -> str:
        """Return the text."""
        self._end_link()
        self._end_line()
        return "\n".join(self._lines).strip("\n")

    def _skip(self, token: Start | End | str) -> None:
        if isinstance(token, str) or token.name != self._skipping:
            return
        self._depth += 1 if isinstance(token, Start) else -1
        if self._depth == 0:
            self._skipping = ""

    def _open(self, tag: Start) -> None:
        name = tag.name
        if tag.raw is not None:
            self._take_raw(tag)
        elif name in _DROPPED or (name in _HIDEABLE and _is_hidden(tag.attributes)):
            self._skipping, self._depth = name, 1
        elif name == "a":
            self._end_link()
            self._link = (tag.attributes.get("href", ""), len(self._line))
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
            self._blank_line()
            self._write("---")
            self._blank_line()
        elif name == "pre":
            self._blank_line()
            self._pre += 1
        elif name in _LISTS:
            self._end_line()
            self._lists.append(0 if name == "ol" else None)
        elif name == "li":
            self._start_item()
        elif name == "tr":
            self._end_line()
        elif name in _BLOCKS:
            self._start_block(name)
            self._mark = _HEADINGS.get(name, self._mark)

    def _close(self, name: str) -> None:
        if name == "a":
            self._end_link()
        elif name == "pre":
            self._blank_line()
            self._pre = max(0, self._pre - 1)
        elif name in _LISTS:
            self._end_line()
            if self._lists:
                self._lists.pop()
            if not self._lists:
                self._blank_line()
        elif name in {"li", "tr"}:
            self._end_line()
        elif name in _BLOCKS:
            self._start_block(name)

    def _start_block(self, name: str) -> None:
        if self._in_row and name in _INSIDE_CELLS:
            self._write(" ")
        else:
            self._blank_line()

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
        if self._in_row:
            self._put("| " if self._line and self._line[-1].endswith(" ") else " | ")
        self._in_row = True

    def _end_link(self) -> None:
        """Write the target of the open link behind its text, if it has any."""
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
        if shown:
            self._put(f"[image: {shown[:_MAX_TITLE_CHARS]}]")

    def _write(self, text: str) -> None:
        self.cut = self.cut or len(text) > self._max_chars
        shown = visible(text[: self._max_chars + 1])
        if self._pre:
            first, *others = shown.split("\n")
            self._put(first)
            for line in others:
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
        """End the line, and a link with it; one without any text yet goes on."""
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
            self._keep(self._mark + text)
            self._mark = ""

    def _blank_line(self) -> None:
        self._end_line()
        if self._lines and self._lines[-1] and not self._lists:
            self._keep("")

    def _keep(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1


def _target(base: str, href: str) -> str:
    """Return the web address that a link leads to, or nothing if it is none worth showing."""
    try:
        target = urljoin(base, href.strip()) if href.strip() else ""
        is_web = urlsplit(target).scheme in {"http", "https"}
    except ValueError:
        return ""
    is_shown = is_web and len(target) <= _MAX_LINK_CHARS and target.isprintable()
    return target.replace(" ", "%20").replace(")", "%29") if is_shown else ""


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    return "hidden" in attributes or _HIDDEN_STYLE.search(attributes.get("style", "")) is not None
