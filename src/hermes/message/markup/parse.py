"""Parses Markdown: CommonMark with tables and strikethrough, HTML as text, into the model.

A wrapper of markdown-it-py, which is imported at the first text. Parsing always ends soon and loses
nothing: what is nested too deeply becomes words.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

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
from hermes.message.markup.runs import tidy
from hermes.message.markup.span_text import words
from hermes.message.pieces import PIECE_CHARS, pieces

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

# Quotes count one, lists two; nobody reads deeper nesting.
_DEEPEST = 24
# The cost of marks in one paragraph is quadratic; if there are this many, it is parsed in parts.
_MOST_MARKS = 1000
_PART_CHARS = 2048
_MARK = re.compile(r"[\[\]!*_~<`]")
# A long text of almost only marks is meant to cost time, and is read as words.
_LONG = 50_000
_MOST_TOIL = 25_000
_TOILSOME = re.compile(r"[\[\]!*_~<>`]")
_LONGEST_REMEMBERED = 8192
_ADDRESS = re.compile(r"(?:https?://[^/?#]|mailto:[^?]|tel:[^?])", re.IGNORECASE)
_NOT_LANGUAGE = re.compile(r"[^\w+#.-]")
_LONGEST_LANGUAGE = 24
_LINE_ENDS = re.compile("\r\n?|[\x85\u2028\u2029]")
_SPACES = re.compile("[\t\n\x0b\x0c]")
_UNSHOWN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 1 << 20, 1 << 16))
    + "\U0010fffe\U0010ffff]"
)


class ParsedMarkdown(str):
    """Markdown that is parsed at most once, and not at all if it was written from the model."""

    __slots__ = ("document",)
    document: Document | None

    def __new__(cls, text: str, document: Document | None = None) -> "ParsedMarkdown":
        """Return a text that stores its parsed form, or will after the first parse."""
        made = super().__new__(cls, text)
        made.document = document
        return made


def parse(text: str) -> Document:
    """Return the parsed form of a Markdown text."""
    if isinstance(text, ParsedMarkdown):
        if text.document is None:
            text.document = _parsed(text)
        return text.document
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _parsed(text)


# A message is measured, then rendered: it is parsed once.
@lru_cache(maxsize=8)
def _remembered(text: str) -> Document:
    return _parsed(text)


def _parsed(text: str) -> Document:
    if len(text) > PIECE_CHARS:
        # So much text is a file rather than a message: it is read as words, one piece after the other.
        return tuple(
            block for piece in pieces(text, marks="\n ") for block in _as_words(_shown(piece))
        )
    source = _shown(text)
    if len(source) > _LONG and len(_TOILSOME.findall(source)) > _MOST_TOIL:
        return _as_words(source)
    reader = _reader()
    tokens: list[Token] = []
    named: dict[str, object] = {}
    reader.block.parse(source, reader, named, tokens)
    return _Walk(tokens, reader, named).blocks()


def _shown(piece: str) -> str:
    source = _LINE_ENDS.sub("\n", piece).replace("\x0b", " ").replace("\x0c", " ")
    return _UNSHOWN.sub("\ufffd", source)


def _as_words(source: str) -> Document:
    paragraphs: list[Block] = []
    for piece in source.split("\n\n"):
        spans: list[Span] = []
        for line in filter(None, (line.strip() for line in piece.split("\n"))):
            spans += [Break(), Text(line)] if spans else [Text(line)]
        if spans:
            paragraphs.append(Paragraph(tuple(spans)))
    return tuple(paragraphs)


@cache
def _reader() -> "MarkdownIt":
    # Its import costs a gateway without push channels memory that it does not have.
    from markdown_it import MarkdownIt  # noqa: PLC0415
    from markdown_it.rules_block import reference  # noqa: PLC0415

    reader = MarkdownIt("commonmark", {"maxNesting": _DEEPEST + 8})
    reader.disable(["html_block", "html_inline"]).enable(["table", "strikethrough"])
    # Forbidden addresses are handled below, so that their words are kept and their syntax is not.
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    reader.block.ruler.before("table", "too_deep", _too_deep)

    def name(state: "StateBlock", start: int, end: int, silent: bool) -> bool:  # noqa: PLR0917 - a rule of markdown-it
        # A footnote, `[^1]: words`, is not a link definition: as one it would disappear.
        is_note = state.src.startswith("[^", state.bMarks[start] + state.tShift[start])
        return not is_note and reference(state, start, end, silent)

    reader.block.ruler.at("reference", name)
    return reader


def _too_deep(state: "StateBlock", start: int, end: int, silent: bool) -> bool:  # noqa: PLR0917 - a rule of markdown-it
    if silent or state.level < _DEEPEST:
        return False
    line = start
    while line < end and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
        line += 1
    state.line = line
    state.push("paragraph_open", "p", 1)
    inline = state.push("inline", "", 0)
    inline.content = state.getLines(start, line, state.blkIndent, False).strip()
    state.push("paragraph_close", "p", -1)
    return True


class _Walk:
    """One pass over the tokens of a text."""

    def __init__(
        self, tokens: list["Token"], reader: "MarkdownIt", named: dict[str, object]
    ) -> None:
        self._tokens = iter(tokens)
        self._reader = reader
        self._named = named

    def blocks(self, until: str = "") -> Document:
        """Return the blocks up to the token that closes them."""
        found: list[Block] = []
        for token in self._tokens:
            if token.type == until:
                break
            block = self._block(token)
            if block is not None:
                found.append(block)
        return tuple(found)

    def _block(self, token: "Token") -> Block | None:
        kind = token.type
        if kind == "paragraph_open":
            spans = self._spans(until="paragraph_close")
            return Paragraph(spans) if spans else None
        if kind == "heading_open":
            spans = _on_one_line(self._spans(until="heading_close"))
            return Heading(int(token.tag[1:]), spans) if spans else None
        if kind in {"fence", "code_block"}:
            return CodeBlock(token.content.rstrip("\n"), _language(token.info))
        if kind == "blockquote_open":
            blocks = self.blocks("blockquote_close")
            return Quote(blocks) if blocks else None
        if kind == "table_open":
            return self._table()
        if kind == "hr":
            return Rule()
        return self._items(token)

    def _items(self, token: "Token") -> Items:
        is_numbered = token.type == "ordered_list_open"
        items: list[Document] = []
        for inner in self._tokens:
            if inner.type != "list_item_open":
                break
            items.append(self.blocks("list_item_close"))
        start = token.attrGet("start")
        first = 1 if start is None else int(start)
        return Items(tuple(items), first if is_numbered else None)

    def _table(self) -> Table:
        rows: list[list[tuple[Span, ...]]] = []
        for token in self._tokens:
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                rows.append([])
            elif token.type in {"th_open", "td_open"}:
                cell = self._spans(until=token.type.replace("open", "close"))
                rows[-1].append(_on_one_line(cell))
        return Table(tuple(rows[0]), tuple(tuple(row) for row in rows[1:]))

    def _spans(self, *, until: str) -> tuple[Span, ...]:
        found: list[Span] = []
        for token in self._tokens:
            if token.type == until:
                break
            for piece in _pieces(token.content) if token.content else ():
                found.extend(self._inline(piece))
        return tidy(found)

    def _inline(self, text: str) -> list[Span]:
        tokens: list[Token] = []
        self._reader.inline.parse(text, self._reader, self._named, tokens)
        return _nested(iter(tokens), until="")


def _pieces(text: str) -> Iterator[str]:
    """Split a paragraph that is full of marks where words end, so that no piece costs much."""
    if len(text) <= _PART_CHARS or len(_MARK.findall(text)) <= _MOST_MARKS:
        yield text
        return
    at = 0
    while at < len(text):
        end = at + _PART_CHARS
        if end < len(text):
            end = max(text.rfind("\n", at, end), text.rfind(" ", at, end)) + 1 or end
        yield text[at:end]
        at = end


_STYLES: dict[str, type[Strong] | type[Emphasis] | type[Strike]] = {
    "strong": Strong,
    "em": Emphasis,
    "s": Strike,
}


def _nested(tokens: Iterator["Token"], *, until: str) -> list[Span]:
    found: list[Span] = []
    for token in tokens:
        kind = token.type
        if kind == until:
            break
        if kind in {"text", "text_special"}:
            found.append(Text(_SPACES.sub(" ", token.content)))
        elif kind in {"softbreak", "hardbreak"}:
            found.append(Break())
        elif kind == "code_inline":
            found.append(Code(token.content))
        elif kind == "image":
            found.append(_picture(token))
        elif kind == "link_open":
            found.extend(_linked(token, _nested(tokens, until="link_close")))
        else:
            name = kind.removesuffix("_open")
            found.append(_STYLES[name](tuple(_nested(tokens, until=f"{name}_close"))))
    return found


def _linked(token: "Token", spans: list[Span]) -> Sequence[Span]:
    url = str(token.attrGet("href"))
    if not _ADDRESS.match(url):
        return spans
    return [Link(url, tidy(spans) or (Text(url),))]


def _picture(token: "Token") -> Span:
    said = _nested(iter(token.children or ()), until="")
    label = " ".join(words(said, addresses=False).split())
    url = str(token.attrGet("src"))
    return Picture(url, label) if _ADDRESS.match(url) else Text(label)


def _on_one_line(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    return tidy(_without_breaks(spans))


def _without_breaks(spans: Sequence[Span]) -> Iterator[Span]:
    for span in spans:
        if isinstance(span, Break):
            yield Text(" ")
        elif isinstance(span, Link):
            yield Link(span.url, tuple(_without_breaks(span.spans)))
        elif isinstance(span, Strong | Emphasis | Strike):
            yield type(span)(tuple(_without_breaks(span.spans)))
        else:
            yield span


def _language(info: str) -> str:
    first = info.strip().split(maxsplit=1)[:1]
    return _NOT_LANGUAGE.sub("", "".join(first)[: 4 * _LONGEST_LANGUAGE])[:_LONGEST_LANGUAGE]
