"""Formatted text to the HTML of a mail: styles stand in the tags, for programs drop all others. Pure."""

from html import escape
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
    Quote,
    Span,
    Strike,
    Strong,
    Table,
    Text,
)

_FONT: Final = (
    "font-family:-apple-system,Segoe UI,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5"
)
_MONO: Final = "font-family:Menlo,Consolas,monospace;font-size:13px"
_PRE: Final = f"{_MONO};background:#f5f5f5;padding:8px;white-space:pre-wrap;overflow-wrap:anywhere"
_QUOTE: Final = "margin:0 0 12px;padding-left:12px;border-left:3px solid #cccccc;color:#555555"
_CELL: Final = "border:1px solid #cccccc;padding:4px 8px;text-align:left;vertical-align:top"
_SIZES: Final = {1: 22, 2: 19, 3: 17, 4: 16, 5: 15, 6: 15}
_WRAPPED: Final = {Strong: "strong", Emphasis: "em", Strike: "s"}


def render(document: Document) -> str:
    """Return the document as a whole HTML page."""
    return (
        '<!DOCTYPE html><html><head><meta charset="utf-8"></head>'
        f'<body><div dir="auto" style="{_FONT}">{_blocks(document)}</div></body></html>'
    )


def _blocks(blocks: tuple[Block, ...]) -> str:
    return "".join(_block(block) for block in blocks)


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return f'<p style="margin:0 0 12px">{_spans(block.spans)}</p>'
    if isinstance(block, Heading):
        style = f"margin:16px 0 8px;font-size:{_SIZES.get(block.level, 15)}px"
        return f'<h{block.level} style="{style}">{_spans(block.spans)}</h{block.level}>'
    if isinstance(block, CodeBlock):
        return f'<pre style="{_PRE}">{_escape(block.text)}</pre>'
    if isinstance(block, Quote):
        return f'<blockquote style="{_QUOTE}">{_blocks(block.blocks)}</blockquote>'
    if isinstance(block, Items):
        return _items(block)
    if isinstance(block, Table):
        return _table(block)
    return '<hr style="border:0;border-top:1px solid #cccccc">'


def _items(block: Items) -> str:
    items = "".join(f"<li>{_item(one)}</li>" for one in block.items)
    if block.start is None:
        return f'<ul style="margin:0 0 12px">{items}</ul>'
    return f'<ol start="{block.start}" style="margin:0 0 12px">{items}</ol>'


def _item(blocks: tuple[Block, ...]) -> str:
    """Return an item; its first paragraph stands beside its mark."""
    if blocks and isinstance(blocks[0], Paragraph):
        return _spans(blocks[0].spans) + _blocks(blocks[1:])
    return _blocks(blocks)


def _table(block: Table) -> str:
    head = "".join(f'<th style="{_CELL}">{_spans(cell)}</th>' for cell in block.head)
    rows = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{_spans(cell)}</td>' for cell in row) + "</tr>"
        for row in block.rows
    )
    style = "border-collapse:collapse;margin:0 0 12px"
    return f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _spans(spans: tuple[Span, ...]) -> str:
    return "".join(_span(span) for span in spans)


def _span(span: Span) -> str:
    if isinstance(span, Text):
        return _escape(span.text)
    if isinstance(span, Break):
        return "<br>"
    if isinstance(span, Code):
        return f'<code style="{_MONO}">{_escape(span.text)}</code>'
    if isinstance(span, Strong | Emphasis | Strike):
        tag = _WRAPPED[type(span)]
        return f"<{tag}>{_spans(span.spans)}</{tag}>"
    if isinstance(span, Link):
        return f'<a href="{_escape(span.url)}">{_spans(span.spans)}</a>'
    return f'<a href="{_escape(span.url)}">{_escape(span.words or span.url)}</a>'


def _escape(text: str) -> str:
    """Return words that mean nothing but themselves; what is no text in HTML is left out."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return escape("".join(one for one in whole if one >= " " or one in "\n\t"))
