"""Formatted text to the HTML that Matrix clients show: only tags that they all let through. Pure."""

from typing import Final

from hermes.message.markup.html import HtmlDialect, html_of
from hermes.message.markup.model import Break, Document, Paragraph, Text

_MATRIX: Final = HtmlDialect(names_language=True)


def render(document: Document) -> str:
    """Return the document as HTML; a single paragraph stands by itself."""
    return html_of(document, _MATRIX)


def is_plain(document: Document) -> bool:
    """Return whether the plain text says all, so that no HTML is needed."""
    return all(
        isinstance(block, Paragraph) and all(isinstance(span, Text | Break) for span in block.spans)
        for block in document
    )
