"""Splits a reply's Markdown into messages of the size that a platform takes.

`message/markup/split.py` knows where to split; it is imported with the first reply that needs it.
Lengths are counted as the platform counts them. Pure.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Literal

from hermes.lazy import lazy

if TYPE_CHECKING:
    from hermes.message.markup.split import split as split_markdown
else:
    split_markdown = lazy("hermes.message.markup.split:split")

Measure = Callable[[str], int]
Unit = Literal["chars", "utf16", "bytes"]


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_length(text: str) -> int:
    """Return the length of a text in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# Measures a text, for channels that do not measure their own format.
MEASURES: Final[Mapping[Unit, Measure]] = {
    "chars": len,
    "utf16": utf16_length,
    "bytes": utf8_length,
}


def split(text: str, *, limit: int, measure: Measure = len, first: int = 0) -> tuple[str, ...]:
    """Return a text as messages of at most `limit` units, or the `first` of them; none if blank."""
    if not text.strip():
        return ()
    return split_markdown(text, limit=limit, measure=measure, first=first)
