"""Formatted text to HTML for Matrix clients: only tags that all of them allow. Pure."""

from typing import Final

from hermes.message.markup.html import HtmlDialect, html_of
from hermes.message.markup.model import Break, Document, Paragraph, Text

_MATRIX: Final = HtmlDialect(names_language=True)


def render(document: Document) -> str:
    """Return the document as HTML; a single paragraph has no tag of its own."""
    return html_of(document, _MATRIX)


def is_plain(document: Document) -> bool:
    """Return whether the plain text is enough, so that no HTML is needed."""
    return all(
        isinstance(block, Paragraph) and all(isinstance(span, Text | Break) for span in block.spans)
        for block in document
    )
