"""Formatted text as Slack's mrkdwn and as blocks. Pure.

mrkdwn has escapes only for `&`, `<` and `>`, not for its marks. A literal mark that could be taken
for a style is written as the fallback text of an invalid date, which Slack shows as it is. A style
ends at the end of a line, and a mark that touches a letter is ignored. Headings become bold lines,
tables fixed-width ones.
"""

import re
from typing import Any, Final

from hermes.message.graphemes import cut_before
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

SECTION_CHARS: Final = 3000
MOST_BLOCKS: Final = 50
_FENCE: Final = "```"
# Between two characters that must not be read together, and between a mark and a letter.
_NOTHING: Final = "\u200b"
_LINE: Final = "———"
_MARKS: Final = "*_~`"
_STYLE_MARKS: Final[dict[type, str]] = {Strong: "*", Emphasis: "_", Strike: "~", Code: "`"}
_RUN: Final = re.compile(r"([*_~`])\1*")
_AS_IT_IS: Final = "<!date^00000000^{{_}}|{}>"
_BULLETS: Final = ("•", "◦", "▪")
_IN_ADDRESS: Final = (("&", "&amp;"), ("<", "%3C"), (">", "%3E"), ("|", "%7C"), (" ", "%20"))
# Of a piece of text that is sent: mrkdwn lines, or None for a divider.
_Piece = str | None


def render(document: Document) -> str:
    """Return the text as mrkdwn."""
    return "\n\n".join(_LINE if piece is None else piece for piece in _pieces(document))


def as_blocks(document: Document) -> list[dict[str, Any]]:  # Any: Block Kit's JSON
    """Return the text as sections and dividers, none too long and not too many."""
    pieces = _pieces(document)
    blocks = _packed(pieces)
    if len(blocks) > MOST_BLOCKS:
        blocks = _packed([_LINE if piece is None else piece for piece in pieces])
    return blocks[:MOST_BLOCKS]


def _pieces(document: Document) -> list[_Piece]:
    found = [None if isinstance(block, Rule) else _block(block, 0) for block in document]
    return [piece for piece in found if piece is None or piece.strip()]


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


def _block(block: Block, depth: int) -> str:
    match block:
        case Paragraph(spans):
            return _spans(spans)
        case Heading(_, spans):
            return _styled(_spans(spans, frozenset("*")), "*")
        case CodeBlock(text):
            return _fenced(text)
        case Table():
            return _fenced("\n".join(as_lines(block)))
        case Quote(blocks):
            return _quoted(blocks, depth)
        case Items(items, start):
            return _list(items, start, depth=depth)
        case Rule():
            return _LINE


def _fenced(text: str) -> str:
    while _FENCE in text:
        text = text.replace("``", f"`{_NOTHING}`")
    return f"{_FENCE}\n{_escape(text)}\n{_FENCE}" if text.strip() else ""


def _quoted(blocks: tuple[Block, ...], depth: int) -> str:
    inner = "\n\n".join(filter(None, (_block(block, depth) for block in blocks)))
    # Slack has one level of quotes, and none inside a list: there the mark is only shown.
    mark = ">" if depth == 0 else "&gt;"
    return "\n".join(
        line if line.startswith(mark) else f"{mark} {line}".rstrip() for line in inner.split("\n")
    )


def _list(items: tuple[tuple[Block, ...], ...], start: int | None, *, depth: int) -> str:
    lines: list[str] = []
    for number, blocks in enumerate(items):
        mark = _BULLETS[min(depth, 2)] if start is None else f"{start + number}."
        inner = "\n".join(filter(None, (_block(block, depth + 1) for block in blocks)))
        first, *rest = inner.split("\n")
        lines.append(f"{mark} {first}".rstrip())
        lines += [line if line.startswith(_FENCE) else f"    {line}".rstrip() for line in rest]
    return "\n".join(lines)


def _spans(spans: tuple[Span, ...], within: frozenset[str] = frozenset()) -> str:
    text = ""
    was_styled = False
    risky = _risky(spans, within)
    for span in spans:
        piece = _literal(span.text, risky) if isinstance(span, Text) else _span(span, within)
        if not piece:
            continue
        is_styled = isinstance(span, Strong | Emphasis | Strike | Code) and piece[0] in _MARKS
        touches = is_styled and text[-1:].isalnum()
        if touches or (was_styled and text[-1] in _MARKS and piece[0].isalnum()):
            text += _NOTHING
        text += piece
        was_styled = is_styled
    return text


def _risky(spans: tuple[Span, ...], within: frozenset[str]) -> frozenset[str]:
    """Return the marks in the text that would start a style; a single one does not."""
    styles = {_STYLE_MARKS[type(span)] for span in spans if type(span) in _STYLE_MARKS}
    said = _words(spans)
    return frozenset(
        mark for mark in _MARKS if mark in styles or mark in within or said.count(mark) > 1
    )


def _literal(text: str, risky: frozenset[str]) -> str:
    """Return text with literal marks; between letters, or spaces, Slack ignores them."""
    if risky.isdisjoint(text):
        return _escape(text)
    text = _escape(text)

    def shown(found: re.Match[str]) -> str:
        before, after = (
            text[max(0, found.start() - 1) : found.start()],
            text[found.end() : found.end() + 1],
        )
        is_inside = before.isalnum() and after.isalnum()
        is_apart = before.isspace() and after.isspace()
        is_safe = found[1] not in risky or is_inside or is_apart
        return found[0] if is_safe else _AS_IT_IS.format(found[0])

    return _RUN.sub(shown, text)


def _span(span: Span, within: frozenset[str]) -> str:
    match span:
        case Text(text):
            return _escape(text)
        case Break():
            return "\n"
        case Code(text):
            return _code(text)
        case Strong(spans):
            return _marked(spans, "*", within=within)
        case Emphasis(spans):
            return _marked(spans, "_", within=within)
        case Strike(spans):
            return _marked(spans, "~", within=within)
        case Link(url, spans):
            return _link(url, _words(spans))
        case Picture(url, words):
            return _link(url, words)


def _marked(spans: tuple[Span, ...], mark: str, *, within: frozenset[str]) -> str:
    inner = _spans(spans, within | {mark})
    return inner if mark in within else _styled(inner, mark)


def _styled(text: str, mark: str) -> str:
    """Return the text with marks around every line, directly next to the words."""
    return "\n".join(_styled_line(line, mark) for line in text.split("\n"))


def _styled_line(line: str, mark: str) -> str:
    bare = line.strip()
    if not bare:
        return line
    before = line[: len(line) - len(line.lstrip())]
    return f"{before}{mark}{bare}{mark}{line[len(before) + len(bare) :]}"


def _code(text: str) -> str:
    # Slack cannot write a backtick inside code; the text matters more than the style.
    is_plain = "`" in text or not text.strip()
    return _literal(text, frozenset(_MARKS)) if is_plain else f"`{_escape(text)}`"


def _link(url: str, words: str) -> str:
    for char, code in _IN_ADDRESS:
        url = url.replace(char, code)
    words = _escape(words.replace("|", "¦")).strip()
    return f"<{url}|{words}>" if words and words != url else f"<{url}>"


def _words(spans: tuple[Span, ...]) -> str:
    """Return the text of a link, which cannot be styled inside it."""
    return "".join(_plain(span) for span in spans)


def _plain(span: Span) -> str:
    match span:
        case Text(text) | Code(text):
            return text
        case Break():
            return " "
        case Picture(_, words):
            return words
        case Strong(spans) | Emphasis(spans) | Strike(spans) | Link(_, spans):
            return _words(spans)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
