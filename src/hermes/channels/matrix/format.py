"""Formatted text to the HTML that Matrix clients show: only tags that they all let through. Pure."""

from html import escape

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

_WRAPPED = {Strong: "strong", Emphasis: "em", Strike: "del"}


def render(document: Document) -> str:
    """Return the document as HTML; a single paragraph stands by itself."""
    if len(document) == 1 and isinstance(document[0], Paragraph):
        return _spans(document[0].spans)
    return _blocks(document)


def is_plain(document: Document) -> bool:
    """Tell whether the plain text says all, so that no HTML is needed."""
    return all(
        isinstance(block, Paragraph) and all(isinstance(span, Text | Break) for span in block.spans)
        for block in document
    )


def _blocks(blocks: tuple[Block, ...]) -> str:
    return "".join(_block(block) for block in blocks)


def _block(block: Block) -> str:
    if isinstance(block, Paragraph):
        return f"<p>{_spans(block.spans)}</p>"
    if isinstance(block, Heading):
        return f"<h{block.level}>{_spans(block.spans)}</h{block.level}>"
    if isinstance(block, CodeBlock):
        return _code_block(block)
    if isinstance(block, Quote):
        return f"<blockquote>{_blocks(block.blocks)}</blockquote>"
    if isinstance(block, Items):
        return _items(block)
    if isinstance(block, Table):
        return _table(block)
    return "<hr>"


def _code_block(block: CodeBlock) -> str:
    language = "".join(one for one in block.language if one.isalnum() or one in "+-_#.")
    kind = f' class="language-{escape(language)}"' if language else ""
    return f"<pre><code{kind}>{escape(block.text)}\n</code></pre>"


def _items(block: Items) -> str:
    items = "".join(f"<li>{_item(one)}</li>" for one in block.items)
    if block.start is None:
        return f"<ul>{items}</ul>"
    start = f' start="{block.start}"' if block.start != 1 else ""
    return f"<ol{start}>{items}</ol>"


def _item(blocks: tuple[Block, ...]) -> str:
    """Return an item; its first paragraph stands beside its mark."""
    if blocks and isinstance(blocks[0], Paragraph):
        return _spans(blocks[0].spans) + _blocks(blocks[1:])
    return _blocks(blocks)


def _table(block: Table) -> str:
    head = "".join(f"<th>{_spans(cell)}</th>" for cell in block.head)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_spans(cell)}</td>' for cell in row)}</tr>" for row in block.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _spans(spans: tuple[Span, ...]) -> str:
    return "".join(_span(span) for span in spans)


def _span(span: Span) -> str:
    if isinstance(span, Text):
        return escape(span.text)
    if isinstance(span, Break):
        return "<br>"
    if isinstance(span, Code):
        return f"<code>{escape(span.text)}</code>"
    if isinstance(span, Strong | Emphasis | Strike):
        tag = _WRAPPED[type(span)]
        return f"<{tag}>{_spans(span.spans)}</{tag}>"
    if isinstance(span, Link):
        return f'<a href="{escape(span.url)}">{_spans(span.spans)}</a>'
    return f'<a href="{escape(span.url)}">{escape(span.words or span.url)}</a>'
