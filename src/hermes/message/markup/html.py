"""Formatted text as HTML, for every platform that shows HTML; the differences are a `HtmlDialect`.
Pure.

`parse.py` has already replaced what is not text, so that escaping is enough. Platforms that know
only marks around words, like Telegram, have no blocks to write and do not use this.
"""

from collections.abc import Mapping
from html import escape
from typing import Final

import msgspec

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
    Quote,
    Span,
    Strike,
    Strong,
    Table,
    Text,
)

_STYLED: Final = {Strong: "strong", Emphasis: "em"}


class HtmlDialect(msgspec.Struct, frozen=True):
    """The features of a platform's HTML that others lack."""

    # The tag of strikethrough, and for each tag the attributes that it always has.
    strike: str = "del"
    attributes: Mapping[str, str] = {}
    # Whether a code block names its language, in its own tag.
    names_language: bool = False


def html_of(document: Document, dialect: HtmlDialect) -> str:
    """Return the document as HTML; a single paragraph is written without its tag."""
    if len(document) == 1 and isinstance(document[0], Paragraph):
        return _spans(document[0].spans, dialect)
    return blocks_of(document, dialect)


def blocks_of(blocks: Document, dialect: HtmlDialect) -> str:
    """Return the blocks as HTML, each in its tag."""
    return "".join(_block(block, dialect) for block in blocks)


def _block(block: Block, dialect: HtmlDialect) -> str:
    match block:
        case Paragraph():
            return _tagged("p", _spans(block.spans, dialect), dialect)
        case Heading():
            return _tagged(f"h{block.level}", _spans(block.spans, dialect), dialect)
        case CodeBlock():
            return _code_block(block, dialect)
        case Quote():
            return _tagged("blockquote", blocks_of(block.blocks, dialect), dialect)
        case Items():
            return _items(block, dialect)
        case Table():
            return _table(block, dialect)
        case _:
            return _opened("hr", dialect)


def _opened(tag: str, dialect: HtmlDialect, more: str = "") -> str:
    always = dialect.attributes.get(tag)
    return f"<{tag}{more} {always}>" if always else f"<{tag}{more}>"


def _tagged(tag: str, inner: str, dialect: HtmlDialect, *, more: str = "") -> str:
    return f"{_opened(tag, dialect, more)}{inner}</{tag}>"


def _code_block(block: CodeBlock, dialect: HtmlDialect) -> str:
    text = escape(block.text)
    if dialect.names_language:
        language = "".join(one for one in block.language if one.isalnum() or one in "+-_#.")
        kind = f' class="language-{language}"' if language else ""
        text = f"<code{kind}>{text}\n</code>"
    return _tagged("pre", text, dialect)


def _items(block: Items, dialect: HtmlDialect) -> str:
    items = "".join(_tagged("li", _item(one, dialect), dialect) for one in block.items)
    if block.start is None:
        return _tagged("ul", items, dialect)
    start = f' start="{block.start}"' if block.start != 1 else ""
    return _tagged("ol", items, dialect, more=start)


def _item(blocks: Document, dialect: HtmlDialect) -> str:
    """Return an item; its first paragraph is beside its mark."""
    if blocks and isinstance(blocks[0], Paragraph):
        return _spans(blocks[0].spans, dialect) + blocks_of(blocks[1:], dialect)
    return blocks_of(blocks, dialect)


def _table(block: Table, dialect: HtmlDialect) -> str:
    head = _row(block.head, "th", dialect)
    rows = "".join(_row(row, "td", dialect) for row in block.rows)
    return _tagged("table", f"<thead>{head}</thead><tbody>{rows}</tbody>", dialect)


def _row(cells: tuple[tuple[Span, ...], ...], tag: str, dialect: HtmlDialect) -> str:
    return f"<tr>{''.join(_tagged(tag, _spans(cell, dialect), dialect) for cell in cells)}</tr>"


def _spans(spans: tuple[Span, ...], dialect: HtmlDialect) -> str:
    return "".join(_span(span, dialect) for span in spans)


def _span(span: Span, dialect: HtmlDialect) -> str:
    match span:
        case Text():
            return escape(span.text)
        case Break():
            return "<br>"
        case Code():
            return _tagged("code", escape(span.text), dialect)
        case Strong() | Emphasis():
            return _tagged(_STYLED[type(span)], _spans(span.spans, dialect), dialect)
        case Strike():
            return _tagged(dialect.strike, _spans(span.spans, dialect), dialect)
        case Link():
            return f'<a href="{escape(span.url)}">{_spans(span.spans, dialect)}</a>'
        case _:
            return f'<a href="{escape(span.url)}">{escape(span.words or span.url)}</a>'
