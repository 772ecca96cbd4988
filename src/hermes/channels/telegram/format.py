"""Formatted text as Telegram's HTML, and the text that remains after Telegram has parsed it. Pure.

The marks are the [markup] table of the manifest. Telegram allows no marks inside code or around it, and
no quote inside a quote.
"""

import html
import re
from typing import Final, NamedTuple

from hermes.channels.telegram.entities import utf16_length
from hermes.message.markup.marks import Marks
from hermes.message.markup.model import Document
from hermes.message.markup.parse import parse

_TAG: Final = re.compile(r"<[^<>]*>")


class MarkupText(NamedTuple):
    """A text as Telegram's HTML, and as people read it."""

    markup: str
    plain: str


def written(text: str, marks: Marks) -> MarkupText:
    """Return a Markdown text as HTML and as readable text; not blank unless the text is."""
    markup = marks.write(parse(text)) if text.strip() else ""
    plain = visible(markup)
    return MarkupText(markup, plain) if plain.strip() else MarkupText(marks.escape(text), text)


def visible(markup: str) -> str:
    """Return the text that people read of a text in HTML."""
    return html.unescape(_TAG.sub("", markup))


def measure(document: Document, marks: Marks) -> int:
    """Return the size that Telegram counts: UTF-16 units of what people read."""
    # Block by block: the tags of a very long reply are not looked for in one go.
    sizes = [utf16_length(visible(text)) for text in marks.blocks(document)]
    return sum(sizes) + 2 * max(0, len(sizes) - 1)
