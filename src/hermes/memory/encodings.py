"""Decodes what is hidden in a text: percent signs, entities, escapes, hexadecimal, base64.

Yields readings of the text; whether one is hostile is decided elsewhere. Pure.
"""

import binascii
import re
from collections.abc import Iterable, Iterator, Sequence

from hermes.memory.disguise import View, without
from hermes.message.markup.references import unescape

_ESCAPE = re.compile(
    r"(?:%[0-9a-f]{2})+"
    r"|&#(?:x[0-9a-f]{1,6}|[0-9]{1,7});?|&[a-z]{2,8};"
    r"|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\\u\{[0-9a-f]{1,6}\}",
    re.IGNORECASE,
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}")
_URL_SAFE = str.maketrans("-_", "+/")
_HEX = re.compile(r"(?:(?:0x|\\x|%)?[0-9a-f]{2}[\s,:;-]{0,3}){8,}", re.IGNORECASE)
_HEX_PAIR = re.compile(r"(?:0x|\\x|%)?([0-9a-f]{2})", re.IGNORECASE)
_UTF8 = re.compile(
    rb"(?:[\t\n\r -~]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}){8,}"
)
_UTF16 = re.compile(rb"(?:[\t\n\r -~]\x00){8,}")
_DEEPEST = 3
# One layer of codes has at most five and a half times the characters of the text it is in.
_MOST_PER_CHAR = 6
_MOST_EXTRA = 4096


def readings(text: str) -> Iterator[View]:
    """Yield a text as it is, then what is encoded in it, also several times over."""
    layer = [View(text, range(len(text)))]
    room = _MOST_PER_CHAR * len(text) + _MOST_EXTRA
    for depth in range(_DEEPEST + 1):
        inner: list[View] = []
        for view in layer:
            yield view
            for found in _decoded(view) if depth < _DEEPEST else ():
                room -= len(found.text)
                if found.text and room > 0:
                    inner.append(found)
        layer = inner


def _decoded(view: View) -> Iterator[View]:
    if _ESCAPE.search(view.text):
        yield _unescaped(view)
    yield _joined(_from_hex(view))
    yield from _from_base64(view)


def _joined(pieces: Iterable[View]) -> View:
    """Return several pieces as one reading, with a line break after each."""
    text: list[str] = []
    at: list[int] = []
    for piece in pieces:
        text += (piece.text, "\n")
        at += piece.at
        at.append(piece.at[-1])
    return View("".join(text), at, encoded=True)


def _unescaped(view: View) -> View:
    text: list[str] = []
    at: list[int] = []
    end = 0
    for found in _ESCAPE.finditer(view.text):
        meant = _meaning(found[0])
        text += (view.text[end : found.start()], meant)
        at += view.at[end : found.start()]
        # All but the last of its characters map to the escape's beginning, the last to its end.
        places = [view.at[found.start()]] * len(meant)
        places[-1:] = [view.at[found.end() - 1]] * min(1, len(meant))
        at += places
        end = found.end()
    text.append(view.text[end:])
    at += view.at[end:]
    return View("".join(text), at, encoded=True)


def _meaning(escape: str) -> str:
    if escape[0] == "%":
        return bytes.fromhex(escape.replace("%", "")).decode(errors="replace")
    if escape[0] == "&":
        return unescape(escape)
    number = int(escape[2:].strip("{}"), 16)
    return chr(number) if number <= 0x10FFFF else ""


def _from_hex(view: View) -> Iterator[View]:
    for found in _HEX.finditer(view.text):
        pairs = list(_HEX_PAIR.finditer(view.text, found.start(), found.end()))
        raw = bytes.fromhex("".join(pair[1] for pair in pairs))
        yield from _readable(raw, [view.at[pair.start()] for pair in pairs])


def _from_base64(view: View) -> Iterator[View]:
    """Yield decoded base64: of unbroken pieces, and at any offset of a text without spaces."""
    yield _joined(_runs(view, skipped=0))
    if _BASE64.search("".join(view.text.split())):
        compact = without(view, str.isspace)
        for skipped in range(4):
            yield _joined(_runs(compact, skipped=skipped))


def _runs(view: View, *, skipped: int) -> Iterator[View]:
    for found in _BASE64.finditer(view.text):
        raw = _bytes_of(found[0].translate(_URL_SAFE)[skipped:])
        if _UTF8.search(raw) or _UTF16.search(raw):
            first = found.start() + skipped
            yield from _readable(raw, [view.at[first + n * 4 // 3] for n in range(len(raw))])


def _bytes_of(run: str) -> bytes:
    body = run[:-1] if len(run) % 4 == 1 else run
    return binascii.a2b_base64(body + "=" * (-len(body) % 4))


def _readable(raw: bytes, places: Sequence[int]) -> Iterator[View]:
    """Yield the readable pieces of some bytes; `places` are the positions of the bytes."""
    for found in _UTF8.finditer(raw):
        at = places[found.start() : found.end()]
        try:
            text = found[0].decode()
        except UnicodeDecodeError:
            yield View(found[0].decode("latin-1"), at, encoded=True)
            continue
        heads = [place for byte, place in zip(found[0], at, strict=True) if byte & 0xC0 != 0x80]
        yield View(text, heads, encoded=True)
    for found in _UTF16.finditer(raw):
        yield View(found[0][::2].decode(), places[found.start() : found.end() : 2], encoded=True)
