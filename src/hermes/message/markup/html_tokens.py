"""HTML as a stream of tags and texts, in one pass over the page.

Pure; used by `html_reader.py`. The standard library's parser needs time proportional to the square
of some pages' length, and pages come from strangers: here each character is read a fixed number of
times, whatever surrounds it. It builds no tree and repairs nothing.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from hermes.message.markup.references import unescape

MAX_VALUE_CHARS: Final = 2000
_NAME: Final = re.compile(r"[a-zA-Z][^\s/>]*+")
_ATTRIBUTE: Final = re.compile(
    r"""[\s/]*+([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?+"""
)
_BLANK: Final = re.compile(r"[\s/]*+")
# The content of these is text up to their own end tag, whatever it looks like.
_RAW: Final = frozenset(
    {"iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"}
)
_RAW_END: Final = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW}


class Start(msgspec.Struct, frozen=True):
    """An opening tag; `raw` is the text inside an element that contains only text.

    `closed` means that it ends with `/>`.
    """

    name: str
    attributes: Mapping[str, str]
    raw: str | None = None
    closed: bool = False


class End(msgspec.Struct, frozen=True):
    """A closing tag."""

    name: str


def read_tokens(page: str) -> Iterator[Start | End | str]:
    """Yield the tags and texts of `page`; what is not closed at its end is left out."""
    at = 0
    while at < len(page):
        tag = _next(page, "<", at)
        if tag > at:
            yield unescape(page[at:tag])
        following = page[tag + 1 : tag + 2]
        if following.isascii() and following.isalpha():
            start, at = _read_start(page, tag + 1)
            if start is not None:
                yield start
        elif following and following in "/!?":
            end, at = _read_other(page, tag)
            if end is not None:
                yield end
        else:
            if following or tag < len(page):
                yield "<"
            at = tag + 1


def _read_start(page: str, at: int) -> tuple[Start | None, int]:
    """Return the opening tag whose name is at `at`, and where the page continues."""
    found = _NAME.match(page, at)
    assert found is not None
    name = found.group()[:64].lower()
    attributes, at = _read_attributes(page, found.end())
    if at > len(page):
        return None, at
    if name not in _RAW:
        return Start(name, attributes, closed=page[at - 2] == "/"), at
    end = _RAW_END[name].search(page, at)
    if end is None:
        return None, len(page)
    return Start(name, attributes, page[at : end.start()]), end.start()


def _read_attributes(page: str, at: int) -> tuple[dict[str, str], int]:
    """Return a tag's attributes and its end, which is the page's end if it is not closed."""
    attributes: dict[str, str] = {}
    while True:
        found = _ATTRIBUTE.match(page, at)
        if found is None:
            blank = _BLANK.match(page, at)
            assert blank is not None
            at = blank.end()
            if at >= len(page) or page[at] == ">":
                return attributes, at + 1
            at += 1
            continue
        at = found.end()
        value = found.group(found.lastindex or 1) if (found.lastindex or 1) > 1 else ""
        if len(attributes) < 50:
            name = found.group(1)[:64].lower()
            attributes.setdefault(name, unescape(value[:MAX_VALUE_CHARS]))


def _read_other(page: str, tag: int) -> tuple[End | None, int]:
    """Return the closing tag at `tag`, or None for a comment or a declaration, and what follows."""
    if page.startswith("<!--", tag):
        return None, _next(page, "-->", tag + 2) + 3
    closed = _next(page, ">", tag + 2)
    if closed == len(page):
        return None, closed
    name = _NAME.match(page, tag + 2, closed) if page[tag + 1] == "/" else None
    return (None if name is None else End(name.group()[:64].lower())), closed + 1


def _next(page: str, text: str, at: int) -> int:
    """Return the next position of `text`, or the page's end if there is none."""
    try:
        return page.index(text, at)
    except ValueError:
        return len(page)
