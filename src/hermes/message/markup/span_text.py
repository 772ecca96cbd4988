"""The text of spans without their styles: words, and the addresses of links. Pure."""

from collections.abc import Iterable

from hermes.message.markup.model import Break, Link, Picture, Span, Text
from hermes.message.markup.model import Code as CodeSpan


def words(spans: Iterable[Span], *, addresses: bool = True) -> str:
    """Return spans as plain text, links as "words (url)" or, without `addresses`, as words."""
    said: list[str] = []
    for span in spans:
        if isinstance(span, Text | CodeSpan):
            said.append(span.text)
        elif isinstance(span, Break):
            said.append("\n")
        elif isinstance(span, Picture):
            said.append(with_address(span.words, span.url) if addresses else span.words)
        else:
            inner = words(span.spans, addresses=addresses)
            is_link = addresses and isinstance(span, Link)
            said.append(with_address(inner, span.url) if is_link else inner)  # type: ignore[union-attr]
    return "".join(said)


def with_address(said: str, url: str) -> str:
    """Return a link as plain text; its address only once if that is also its text."""
    if not said.strip() or said == url:
        return url
    if url in {f"mailto:{said}", f"tel:{said}", f"https://{said}", f"http://{said}"}:
        return said
    return f"{said} ({url})"
