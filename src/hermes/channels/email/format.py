"""Formatted text to the HTML of a mail: styles are inside the tags, because mail programs drop all
others. Pure.
"""

from typing import Final

from hermes.message.markup.html import HtmlDialect, blocks_of
from hermes.message.markup.model import Document

_FONT: Final = (
    "font-family:-apple-system,Segoe UI,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5"
)
_MONO: Final = "font-family:Menlo,Consolas,monospace;font-size:13px"
_LINE: Final = "1px solid #cccccc"
_CELL: Final = f"border:{_LINE};padding:4px 8px;text-align:left;vertical-align:top"
_BELOW: Final = "margin:0 0 12px"
_SIZES: Final = {1: 22, 2: 19, 3: 17, 4: 16, 5: 15, 6: 15}
_STYLES: Final = {
    "p": _BELOW,
    "pre": f"{_MONO};background:#f5f5f5;padding:8px;white-space:pre-wrap;overflow-wrap:anywhere",
    "blockquote": f"{_BELOW};padding-left:12px;border-left:3px solid #cccccc;color:#555555",
    "ul": _BELOW,
    "ol": _BELOW,
    "table": f"border-collapse:collapse;{_BELOW}",
    "th": _CELL,
    "td": _CELL,
    "code": _MONO,
    "hr": f"border:0;border-top:{_LINE}",
} | {f"h{level}": f"margin:16px 0 8px;font-size:{size}px" for level, size in _SIZES.items()}
_MAIL: Final = HtmlDialect(
    strike="s", attributes={tag: f'style="{style}"' for tag, style in _STYLES.items()}
)


def render(document: Document) -> str:
    """Return the document as a whole HTML page."""
    return (
        '<!DOCTYPE html><html><head><meta charset="utf-8"></head>'
        f'<body><div dir="auto" style="{_FONT}">{blocks_of(document, _MAIL)}</div></body></html>'
    )
