"""Formatted text as Slack's blocks, from the marks that the [markup] table of the manifest describes. Pure.

mrkdwn has escapes only for `&`, `<` and `>`, not for its marks. A literal mark that could be taken
for a style is written as the fallback text of an invalid date, which Slack shows as it is.
"""

from typing import Any, Final

from hermes.message.graphemes import cut_before
from hermes.message.markup.marks import Marks
from hermes.message.markup.model import Document, Rule

SECTION_CHARS: Final = 3000
MOST_BLOCKS: Final = 50
_FENCE: Final = "```"
# Of a piece of text that is sent: mrkdwn lines, or None for a divider.
_Piece = str | None


# Any: Block Kit's JSON.
def as_blocks(document: Document, marks: Marks, *, most: int = MOST_BLOCKS) -> list[dict[str, Any]]:
    """Return the text as sections and dividers, none too long and not too many."""
    pieces = _pieces(document, marks)
    blocks = _packed(pieces)
    if len(blocks) > most:
        blocks = _packed([marks.row.rule if piece is None else piece for piece in pieces])
    return blocks[:most]


def _pieces(document: Document, marks: Marks) -> list[_Piece]:
    pieces: list[_Piece] = []
    for block in document:
        pieces += [None] if isinstance(block, Rule) else marks.blocks((block,))
    return pieces


def _packed(pieces: list[_Piece]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    waiting = ""
    for piece in (*pieces, None):
        for part in () if piece is None else _cut(piece):
            if waiting and len(waiting) + 2 + len(part) > SECTION_CHARS:
                blocks.append(_section(waiting))
                waiting = ""
            waiting = f"{waiting}\n\n{part}" if waiting else part
        if piece is None:
            blocks += [_section(waiting)] if waiting else []
            blocks.append({"type": "divider"})
            waiting = ""
    # The last one only closed what was open.
    return blocks[:-1]


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}, "expand": True}


def _cut(piece: str) -> list[str]:
    """Return a piece in parts that fit a section; code is closed before a cut and reopened after
    it.
    """
    if len(piece) <= SECTION_CHARS:
        return [piece]
    is_code = piece.startswith(_FENCE) and piece.endswith(_FENCE)
    inner = piece[len(_FENCE) : -len(_FENCE)].strip("\n") if is_code else piece
    room = SECTION_CHARS - 2 * len(_FENCE) - 2 if is_code else SECTION_CHARS
    parts: list[str] = []
    while inner:
        end = len(inner) if len(inner) <= room else _place(inner, room)
        parts.append(inner[:end])
        inner = inner[end:].removeprefix("\n")
    parts = [part for part in parts if part.strip()]
    return [f"{_FENCE}\n{part}\n{_FENCE}" for part in parts] if is_code else parts


def _place(text: str, room: int) -> int:
    for separator in ("\n", " "):
        end = text.rfind(separator, room // 4, room + 1)
        if end > 0:
            return end
    end = max(1, cut_before(text, room))
    # An escape or a link is not split, unless it is longer than the whole section.
    for opening, closing in (("&", ";"), ("<", ">")):
        start = text.rfind(opening, 1, end)
        if start > end - 1000 and start >= 1 and closing not in text[start:end]:
            end = start
    return end
