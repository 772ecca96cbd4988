"""Formatted text as Telegram's HTML, and the text that remains after Telegram has parsed it. Pure.

Telegram allows no marks inside code and no quote inside a quote, so text is written as runs that
each carry their own marks.
"""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from hermes.channels.telegram.entities import utf16_length
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
    Picture,
    Quote,
    Rule,
    Span,
    Strike,
    Strong,
    Table,
    Text,
)
from hermes.message.markup.tables import as_lines

_RULE: Final = "──────────"
_BULLET: Final = "• "
_INDENT: Final = "   "
_GAP: Final = "\n\n"
_TAG: Final = re.compile(r"<[^<>]*>")
_NO_LANGUAGE: Final = re.compile(r"[^A-Za-z0-9_+#.-]")
_WEB: Final = ("http://", "https://")


class _Look(msgspec.Struct, frozen=True):
    """The marks around a run of text."""

    bold: bool = False
    italic: bool = False
    struck: bool = False
    url: str = ""


_PLAIN: Final = _Look()
_BOLD: Final = _Look(bold=True)


def render(document: Document) -> str:
    """Return the document as Telegram's HTML."""
    return _blocks(document, in_quote=False)


def visible(markup: str) -> str:
    """Return the text that people read of a `render` result."""
    return html.unescape(_TAG.sub("", markup))


def measure(document: Document) -> int:
    """Return the size that Telegram counts: UTF-16 units of what people read."""
    written = [text for text in (_block(block, in_quote=False) for block in document) if text]
    # Block by block: the tags of a very long reply are not looked for in one go.
    return sum(utf16_length(visible(text)) for text in written) + len(_GAP) * max(
        0, len(written) - 1
    )


def _blocks(blocks: Iterable[Block], *, in_quote: bool) -> str:
    written = (_block(block, in_quote=in_quote) for block in blocks)
    return _GAP.join(text for text in written if text)


def _block(block: Block, *, in_quote: bool) -> str:
    if isinstance(block, Paragraph):
        return _spans(block.spans, _PLAIN)
    if isinstance(block, Heading):
        return _spans(block.spans, _BOLD)
    if isinstance(block, CodeBlock):
        return _code_block(block)
    if isinstance(block, Quote):
        inner = _blocks(block.blocks, in_quote=True)
        return inner if in_quote or not inner else f"<blockquote>{inner}</blockquote>"
    if isinstance(block, Items):
        return _items(block, in_quote=in_quote)
    if isinstance(block, Table):
        return f"<pre>{escape(chr(10).join(as_lines(block)))}</pre>"
    return _rule(block)


def _rule(_block_: Rule) -> str:
    return _RULE


def _code_block(block: CodeBlock) -> str:
    language = _NO_LANGUAGE.sub("", block.language)
    code = escape(block.text)
    if not code:
        return ""
    if language:
        return f'<pre><code class="language-{language}">{code}</code></pre>'
    return f"<pre>{code}</pre>"


def _items(items: Items, *, in_quote: bool) -> str:
    return "\n".join(
        _item(
            blocks,
            _BULLET if items.start is None else f"{items.start + number}. ",
            in_quote=in_quote,
        )
        for number, blocks in enumerate(items.items)
    )


def _item(blocks: tuple[Block, ...], mark: str, *, in_quote: bool) -> str:
    lines = mark
    for number, block in enumerate(blocks):
        text = _block(block, in_quote=in_quote)
        if isinstance(block, Items):
            # Only lists are indented: indentation would change the lines of code and tables.
            text = "\n".join(_INDENT + line for line in text.split("\n"))
        starts_line = number > 0 or isinstance(block, Items | CodeBlock | Table)
        lines += f"\n{text}" if starts_line and text else text
    return lines


def _spans(spans: tuple[Span, ...], look: _Look) -> str:
    return "".join(_run(text, marks) for text, marks in _runs(spans, look))


def _runs(spans: Iterable[Span], look: _Look) -> Iterator[tuple[Span, _Look]]:
    """Yield the leaves of nested spans, each with its enclosing marks."""
    for span in spans:
        if isinstance(span, Strong):
            yield from _runs(span.spans, msgspec.structs.replace(look, bold=True))
        elif isinstance(span, Emphasis):
            yield from _runs(span.spans, msgspec.structs.replace(look, italic=True))
        elif isinstance(span, Strike):
            yield from _runs(span.spans, msgspec.structs.replace(look, struck=True))
        elif isinstance(span, Link):
            yield from _link(span, look)
        elif isinstance(span, Picture):
            words = Text(span.words or span.url)
            yield words, msgspec.structs.replace(look, url=span.url)
        else:
            yield span, look


def _link(link: Link, look: _Look) -> Iterator[tuple[Span, _Look]]:
    if link.url.startswith(_WEB):
        inner = link.spans or (Text(link.url),)
        yield from _runs(inner, msgspec.structs.replace(look, url=link.url))
        return
    # Telegram does not link other addresses: they are shown as text.
    yield from _runs(link.spans, look)
    address = link.url.partition(":")[2]
    if address and address not in visible(_spans(link.spans, _PLAIN)):
        yield Text(f" ({address})"), look


def _run(span: Span, look: _Look) -> str:
    if isinstance(span, Break):
        return "\n"
    if isinstance(span, Code):
        return f"<code>{escape(span.text)}</code>" if span.text else ""
    if not isinstance(span, Text) or not span.text:
        return ""
    text = escape(span.text)
    for wanted, tag in ((look.struck, "s"), (look.italic, "i"), (look.bold, "b")):
        text = f"<{tag}>{text}</{tag}>" if wanted else text
    return f'<a href="{html.escape(look.url)}">{text}</a>' if look.url else text


def escape(text: str) -> str:
    """Return a text that Telegram reads as plain text only."""
    return html.escape(text, quote=False)
