"""One row of a manifest: how a platform writes formatted text; and the runs that lines are made of.

`marks.py` makes the runs, `mark_line.py` writes them by the row. Pure.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

Pair = tuple[str, str]
StyleName = Literal["bold", "italic", "underline", "strike", "code"]
_NONE: Final[Pair] = ("", "")


class MarkupRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a platform writes formatted text; without a row it is plain text.

    `bold` to `code` are what is written before and after words, `fence` before and after lines of code
    (`fence_named` if they name their `{language}`). A platform without fences gets lines in the style
    `code`. `code_alone` says that code has no other style. `link` holds `{words}` and `{url}`, `bare` is
    an address without words, `links` which addresses are linked, `link_is_plain` that its words have no
    style. `title` is the style of the first heading level, `heading` that of the others; the levels up
    to `hashes` are written with `#`. `bullets` are those of each depth of a list, `quote` is before each
    line of a quotation, or `quoted` around it; `quotes_nest` says that there are quotations in others
    and in lists. A `table` is code, lines, or a line for each cell.

    `replaced` is replaced everywhere, `escaped` are characters that get `escape` before them outside
    code, `literal` is what is written for a character where it would be read as a mark, `in_url` is
    replaced in addresses, `in_words` in the words of links. `start` is written before words that would
    open a heading, a quotation or an item. `apart` keeps a mark from a letter beside it.
    `toggles` says that the same code begins and ends a style, and that it ends with the line.
    """

    bold: Pair = _NONE
    italic: Pair = _NONE
    underline: Pair = _NONE
    strike: Pair = _NONE
    code: Pair = _NONE
    fence: Pair = _NONE
    fence_named: Pair = _NONE
    code_alone: bool = False
    link: str = "{words} ({url})"
    bare: str = "{url}"
    links: tuple[str, ...] = ("http://", "https://")
    link_is_plain: bool = False
    title: tuple[StyleName, ...] = ("bold",)
    heading: tuple[StyleName, ...] = ("bold",)
    hashes: int = 0
    bullets: tuple[str, ...] = ("- ",)
    indent: str = "  "
    quote: str = "> "
    quoted: Pair = _NONE
    quotes_nest: bool = True
    table: Literal["code", "lines", "cells"] = "lines"
    rule: str = "---"
    replaced: Mapping[str, str] = {}
    escaped: str = ""
    escape: str = "\\"
    literal: Mapping[str, str] = {}
    in_url: Mapping[str, str] = {}
    in_words: Mapping[str, str] = {}
    start: str = ""
    apart: str = ""
    toggles: bool = False


# The style of a run; styles can be combined. Plain numbers: every run of every reply is asked for them.
PLAIN: Final = 0
BOLD: Final = 1
ITALIC: Final = 2
UNDERLINE: Final = 4
STRIKE: Final = 8
CODE: Final = 16
LOOKS: Final[Mapping[StyleName, int]] = {
    "bold": BOLD,
    "italic": ITALIC,
    "underline": UNDERLINE,
    "strike": STRIKE,
    "code": CODE,
}


class TextRun(msgspec.Struct, frozen=True):
    """Words of one look, and the address that they lead to; `is_mark` is written as it is."""

    text: str
    look: int = PLAIN
    url: str = ""
    is_mark: bool = False


Line = list[TextRun]
