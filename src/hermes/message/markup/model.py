"""The elements of formatted text: blocks that hold spans; frozen, and the same for every platform.

`parse.py` makes it from Markdown and `write.py` converts it back; a channel's `format.py` walks it
and writes its platform's format. A newline inside a paragraph is a `Break`, because people in chats
mean the line ends that they write.
"""

from typing import Union

import msgspec


class Text(msgspec.Struct, frozen=True):
    """Words as they are; never empty, never with a newline."""

    text: str


class Break(msgspec.Struct, frozen=True):
    """The end of a line inside a paragraph."""


class Code(msgspec.Struct, frozen=True):
    """Code within a line."""

    text: str


class Strong(msgspec.Struct, frozen=True):
    """Bold."""

    spans: tuple["Span", ...]


class Emphasis(msgspec.Struct, frozen=True):
    """Italic."""

    spans: tuple["Span", ...]


class Strike(msgspec.Struct, frozen=True):
    """Strikethrough."""

    spans: tuple["Span", ...]


class Link(msgspec.Struct, frozen=True):
    """Words that lead to an address; only http, https, mailto and tel addresses get here."""

    url: str
    spans: tuple["Span", ...]


class Picture(msgspec.Struct, frozen=True):
    """A picture named by its address; chats show its words as a link."""

    url: str
    words: str


Span = Union[Text, Break, Code, Strong, Emphasis, Strike, Link, Picture]  # noqa: UP007 - recursive


class Paragraph(msgspec.Struct, frozen=True):
    """Lines of text."""

    spans: tuple[Span, ...]


class Heading(msgspec.Struct, frozen=True):
    """A title; `level` is 1 to 6."""

    level: int
    spans: tuple[Span, ...]


class CodeBlock(msgspec.Struct, frozen=True):
    """Code on lines of its own; `text` has no newline at its end."""

    text: str
    language: str = ""


class Quote(msgspec.Struct, frozen=True):
    """A quotation."""

    blocks: tuple["Block", ...]


class Items(msgspec.Struct, frozen=True):
    """A list; `start` is the first number, or None for bullets."""

    items: tuple[tuple["Block", ...], ...]
    start: int | None = None


class Table(msgspec.Struct, frozen=True):
    """A table; every row has as many cells as the head."""

    head: tuple[tuple[Span, ...], ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]


class Rule(msgspec.Struct, frozen=True):
    """A horizontal rule."""


Block = Union[Paragraph, Heading, CodeBlock, Quote, Items, Table, Rule]  # noqa: UP007 - recursive
Document = tuple[Block, ...]
