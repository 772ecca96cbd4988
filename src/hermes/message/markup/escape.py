"""Writes spans as the Markdown of one paragraph that parses back to the same spans. Pure.

Whether a mark works depends on its neighbours: a letter that would break it is written as a number,
and only characters with a meaning are escaped.
"""

import re
from collections.abc import Iterable

import msgspec

from hermes.message.markup.model import (
    Break,
    Code,
    Emphasis,
    Link,
    Picture,
    Span,
    Strike,
    Strong,
    Text,
)

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_MEANT = re.compile(
    r"""
    \\ | ` | \*(?!(?<=\s\*)\s) | (?<![^\W_])_ | _(?![^\W_])
    | (?<=~)~ | ~(?=~) | &(?=\#|[A-Za-z][A-Za-z0-9]*;) | <(?=[^\s<>]*(?:[:@]|$)) | ](?=\() | !(?=\[)
    """,
    re.VERBOSE,
)
_MEANT_IN_LINK = re.compile(rf"{_MEANT.pattern} | [\[\]]", re.VERBOSE)
_ANY_MARK = re.compile(r"[\\`*_~&<\[\]!]")
_OPENS_BLOCK = re.compile(r"(?:\#{1,6}(?=\s|$)|>|[-+](?=\s|$)|[-=:|](?=[-=:|\s]*$))")
_NUMBERS_BLOCK = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_ENTITY = re.compile(r"&(?=#|[A-Za-z][A-Za-z0-9]*;)")
_BACKTICKS = re.compile(r"`+")
_PLAIN_ADDRESS = re.compile(r"[^\s<>()]+")


# (first character, the text before it): a definition, a strikethrough that is too long.
_MEANT_AFTER = frozenset({("[", ""), ("[", "\n"), ("~", "~")})
# (last character, the text after it): a picture, a strikethrough that is too long.
_MEANT_BEFORE = frozenset({("!", "["), ("~", "~")})


class _Piece(msgspec.Struct):
    """A part of the line: words, a mark that opens or closes, or a self-contained element."""

    kind: str
    text: str
    in_link: bool = False
    # Which ends of the words, 0 and -1, are written as numbers.
    numbered: frozenset[int] = frozenset()


def inline(spans: Iterable[Span]) -> str:
    """Return spans as Markdown, with their lines as in a paragraph."""
    pieces: list[_Piece] = []
    _lay(spans, pieces, mark="", in_link=False)
    _settle(pieces)
    parts = [piece.text for piece in pieces]
    for at, piece in enumerate(pieces):
        if piece.kind == "text" and not _is_simple(piece):
            before = pieces[at - 1].text[-1:] if at else ""
            after = pieces[at + 1].text[:1] if at + 1 < len(pieces) else ""
            parts[at] = _written(piece, before=before, after=after)
    return "\n".join(_shielded(line) for line in "".join(parts).split("\n"))


def fence_of(text: str, *, at_least: int) -> str:
    """Return a run of backticks that does not occur in a text, to enclose it."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    return "`" * max(at_least, longest + 1)


def _lay(spans: Iterable[Span], pieces: list[_Piece], *, mark: str, in_link: bool) -> None:
    for span in spans:
        if isinstance(span, Text):
            pieces.append(_Piece("text", span.text, in_link=in_link))
        elif isinstance(span, Break):
            pieces.append(_Piece("break", "\n"))
        elif isinstance(span, Code):
            pieces.append(_Piece("atom", _code(span.text)))
        elif isinstance(span, Picture):
            label = _escaped(span.words, in_link=True)
            pieces.append(_Piece("atom", f"![{label}]{_address(span.url)}"))
        elif isinstance(span, Link):
            pieces.append(_Piece("atom", "["))
            _lay(span.spans, pieces, mark=mark, in_link=True)
            pieces.append(_Piece("atom", f"]{_address(span.url)}"))
        else:
            _lay_styled(span, pieces, mark=mark, in_link=in_link)


def _lay_styled(
    span: Strong | Emphasis | Strike, pieces: list[_Piece], *, mark: str, in_link: bool
) -> None:
    if isinstance(span, Strike):
        char, marks = mark, "~~"
    else:
        # A mark cannot be mistaken for those around it if its kind is different.
        beside = pieces[-1].text[-1] if pieces and pieces[-1].kind == "close" else ""
        char = "_" if "*" in {mark, beside} else "*"
        marks = char * (2 if isinstance(span, Strong) else 1)
    pieces.append(_Piece("open", marks))
    _lay(span.spans, pieces, mark=char, in_link=in_link)
    pieces.append(_Piece("close", marks))


def _settle(pieces: list[_Piece]) -> None:
    """Find the letters beside marks that must be written as numbers."""
    for at, piece in enumerate(pieces):
        if piece.kind == "open":
            _hold(piece, pieces[at + 1], outer=pieces[at - 1] if at else None)
        elif piece.kind == "close":
            _hold(piece, pieces[at - 1], outer=pieces[at + 1] if at + 1 < len(pieces) else None)


def _hold(mark: _Piece, inner: _Piece, *, outer: _Piece | None) -> None:
    near, far = (0, -1) if mark.kind == "open" else (-1, 0)
    is_letter = False
    if inner.kind == "text":
        is_letter = inner.text[near].isalnum()
        if inner.text[near].isspace():
            inner.numbered |= {near}
    if outer is not None and outer.kind == "text" and _clings(mark, outer.text[far], is_letter):
        outer.numbered |= {far}


def _clings(mark: _Piece, outer: str, is_letter: bool) -> bool:
    """Return whether a mark between this character and a letter, or something else, would fail."""
    if outer == " " or outer in _PUNCTUATION:
        return False
    return mark.text[0] == "_" or not is_letter


def _is_simple(piece: _Piece) -> bool:
    return not piece.numbered and _ANY_MARK.search(piece.text) is None


def _written(piece: _Piece, *, before: str, after: str) -> str:
    text = piece.text
    head = _number(text[0]) if 0 in piece.numbered else ""
    body = text[1:] if head else text
    tail = _number(body[-1]) if -1 in piece.numbered and body else ""
    body = _escaped(body[:-1] if tail else body, in_link=piece.in_link)
    # The neighbours of the words give their first and last character a meaning.
    if not head and (body[:1], before) in _MEANT_AFTER:
        body = f"\\{body}"
    if not tail and (body[-1:], after) in _MEANT_BEFORE and not _ends_escaped(body):
        body = f"{body[:-1]}\\{body[-1]}"
    return f"{head}{body}{tail}"


def _ends_escaped(body: str) -> bool:
    before = body[:-1]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _number(char: str) -> str:
    return f"&#{ord(char)};"


def _escaped(text: str, *, in_link: bool) -> str:
    return (_MEANT_IN_LINK if in_link else _MEANT).sub(r"\\\g<0>", text)


def _code(text: str) -> str:
    fence = fence_of(text, at_least=1)
    is_spaced = text.startswith(" ") and text.endswith(" ") and bool(text.strip())
    pad = " " if is_spaced or text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _address(url: str) -> str:
    safe = _ENTITY.sub(r"\\&", url)
    return f"({safe})" if _PLAIN_ADDRESS.fullmatch(safe) else f"(<{safe}>)"


def _shielded(line: str) -> str:
    """Escape what would make a line of words the start of another block."""
    if _OPENS_BLOCK.match(line):
        return f"\\{line}"
    return (
        _NUMBERS_BLOCK.sub(r"\1\\\2", line, count=1)
        if line[:1].isdigit() and _NUMBERS_BLOCK.match(line)
        else line
    )
