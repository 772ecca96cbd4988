"""Replaces stored secrets in texts by their names: as they are, in JSON, quotes, addresses, base64 and hex.

Pure. It knows what text is, and nothing of where texts come from. Each form of a secret is found by
pieces of a few characters: a text is sampled at regular distances, and only where a sample is a piece
of some form is more compared. So the time depends on the text, and hardly on how many secrets there
are.
"""

import asyncio
import re
from base64 import b64encode
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

# A shorter value would mask ordinary words.
SHORTEST_SECRET = 8
# Of a value of several words, such as `Bearer abc` or the lines of a key file, those of this length are
# secrets of their own.
_SHORTEST_WORD = 16
_WINDOW = SHORTEST_SECRET
_PIECE = 5
_STEP = _WINDOW - _PIECE + 1
# A text that ends in the middle of a secret is recognised by the secret's first characters.
_HEAD = 4
# A longer beginning of a secret is not held back from people who read along.
MOST_HELD = 1024
_LONG = 50_000
# How far from its end a form is searched for the characters that it is looked for by.
_MOST_COMPARED = 64
_URL_SAFE = str.maketrans("+/", "-_")
_PERCENT = re.compile("%..")
_BASE64_LINE = 76
# The line of `xxd -p`.
_HEX_LINE = 60

_Form = tuple[str, str]


class _Forms(msgspec.Struct, frozen=True):
    """Every form of every secret with its replacement, by the pieces of some of its characters.

    A piece leads to the forms that have it, and to how far behind their beginning it is.
    """

    by_piece: dict[str, tuple[tuple[int, str, str], ...]]
    ordered: tuple[str, ...]
    heads: frozenset[str]
    longest: int


_NO_FORMS = _Forms({}, (), frozenset(), 0)


class SecretMask:
    """Masks the stored secrets of this process; which they are may change at any time."""

    def __init__(self) -> None:
        self._forms = _NO_FORMS

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to mask."""
        return not self._forms.by_piece

    def use(self, secrets: Iterable[tuple[str, str]]) -> None:
        """Mask these from now on, as (name, value); shorter values than 8 characters are left alone."""
        self._forms = _indexed(dict(_all_forms(secrets)))

    def text(self, text: str) -> str:
        """Return the text with the name in the place of every secret."""
        found = self._found(text) if self._forms.by_piece else []
        if not found:
            return text
        pieces, done = list[str](), 0
        for begin, end, name in found:
            pieces += text[done:begin], name
            done = end
        return "".join((*pieces, text[done:]))

    async def masked(self, text: str) -> str:
        """Do the same as `text`; a long text does not block the event loop."""
        if self.is_empty or len(text) < _LONG:
            return self.text(text)
        return await asyncio.to_thread(self.text, text)

    def report(self, report: object) -> object:
        """Return a report without secrets; the report itself if it has none."""
        if self.is_empty or not self.has_one(msgspec.json.encode(report).decode()):
            return report
        return self._plain(msgspec.to_builtins(report))

    # Any: plain JSON values.
    def _plain(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(name)): self._plain(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._plain(one) for one in value]
        return value

    def has_one(self, text: str) -> bool:
        """Return whether a secret is in the text."""
        return bool(self._forms.by_piece and self._found(text))

    def open_end(self, text: str) -> int:
        """Return how many of the last characters may be the beginning of a secret."""
        heads, count = self._forms.heads, len(text)
        first = max(0, count - min(self._forms.longest - 1, MOST_HELD))
        for begin in range(first, count):
            if text[begin : begin + _HEAD] in heads and self._begins_one(text[begin:]):
                return count - begin
        return 0

    def cut_before_end(self, text: str) -> int:
        """Return up to where a text that goes on can be masked: no secret is across that place."""
        cut = len(text) - self.open_end(text)
        for begin, end, _ in self._found(text) if cut < len(text) else ():
            if begin < cut < end:
                return begin
        return cut

    def _begins_one(self, tail: str) -> bool:
        ordered = self._forms.ordered
        place = bisect_left(ordered, tail)
        return place < len(ordered) and ordered[place].startswith(tail)

    def _found(self, text: str) -> list[tuple[int, int, str]]:
        """Return where secrets are, in order and apart from each other."""
        by_piece = self._forms.by_piece
        last = len(text) - _PIECE + 1
        hits = [at for at in range(0, last, _STEP) if text[at : at + _PIECE] in by_piece]
        found = [
            (at - before, at - before + len(form), name)
            for at in hits
            for before, form, name in by_piece[text[at : at + _PIECE]]
            if at >= before and text.startswith(form, at - before)
        ]
        return _apart(found)


def _apart(found: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return places in order; of those that overlap one is left, as wide as all of them."""
    kept = list[tuple[int, int, str]]()
    # The longest first where several begin: a secret that contains another one is named itself.
    for begin, end, name in sorted(set(found), key=lambda one: (one[0], -one[1], one[2])):
        if kept and begin < kept[-1][1]:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]), kept[-1][2])
        else:
            kept.append((begin, end, name))
    return kept


def _all_forms(secrets: Iterable[tuple[str, str]]) -> Iterable[_Form]:
    """Yield each form with its replacement; the first name of a value that two secrets have counts."""
    named: dict[str, str] = {}
    for name, value in sorted(secrets):
        for part in _parts(value):
            for form in forms_of(part):
                named.setdefault(form, f"[secret {name}]")
    return named.items()


def _parts(value: str) -> tuple[str, ...]:
    """Return a value, and the long words that it consists of; nothing of a short one."""
    if len(value) < SHORTEST_SECRET:
        return ()
    return (value, *(word for word in value.split() if _SHORTEST_WORD <= len(word) < len(value)))


def forms_of(value: str) -> tuple[str, ...]:
    """Return a value as it is, as strings of JSON and Python, addresses and pages have it, in base64 and in hex.

    In base64 it may begin at any of three places of a group, so only the letters that it alone decides
    are looked for.
    """
    coded = [_coded(value.encode(), before) for before in range(3)]
    safe = [one.translate(_URL_SAFE) for one in coded]
    whole = b64encode(value.encode()).decode()
    forms = (
        value,
        *_json_forms(value),
        *_quoted_forms(value),
        *_address_forms(value),
        *coded,
        *safe,
        *_hex_forms(value.encode()),
    )
    return tuple(dict.fromkeys((*forms, *_lines(whole, _BASE64_LINE))))


def _json_forms(value: str) -> Iterator[str]:
    """Yield the value in JSON: as it is, in ASCII, and with the letters that some encoders escape."""
    in_json = msgspec.json.encode(value)[1:-1].decode()
    in_ascii = "".join(one if one < "\x7f" else _escaped(one) for one in in_json)
    yield from (in_json, in_ascii)
    yield from (in_json.replace("/", "\\/"), in_ascii.replace("/", "\\/"))
    yield "".join(_escaped(one) if one in "<>&" else one for one in in_json)


def _quoted_forms(value: str) -> Iterator[str]:
    """Yield the value in Python's two kinds of quotes, and in a page."""
    # With both kinds of quotes in a text, `repr` escapes the single ones.
    yield from (repr(value)[1:-1], repr(f"{value}\"'")[1:-4])
    yield from (escape(value), escape(value, quote=False))


def _address_forms(value: str) -> Iterator[str]:
    """Yield the value in an address: in its query, in its path, and in a form."""
    for one in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield one
        yield _PERCENT.sub(lambda found: found[0].lower(), one)


def _hex_forms(content: bytes) -> Iterator[str]:
    """Yield the value in hex as programs write it: at a stretch, in lines, and byte by byte."""
    for one in (content.hex(), content.hex().upper()):
        yield from (one, *_lines(one, _HEX_LINE))
    for separator in (" ", ":"):
        yield from (content.hex(separator), content.hex(separator).upper())


def _lines(coded: str, width: int) -> tuple[str, ...]:
    """Return the long lines of a text that programs such as `base64` break; nothing of a short one."""
    lines = [coded[at : at + width] for at in range(0, len(coded), width)]
    return tuple(one for one in lines if len(one) >= _SHORTEST_WORD) if len(lines) > 1 else ()


def _escaped(letter: str) -> str:
    """Return a letter as JSON in ASCII has it."""
    return "".join(f"\\u{unit:04x}" for unit in _units(letter))


def _units(letter: str) -> tuple[int, ...]:
    content = letter.encode("utf-16-be", "surrogatepass")
    return tuple(int.from_bytes(content[at : at + 2]) for at in range(0, len(content), 2))


def _coded(content: bytes, before: int) -> str:
    """Return the letters of base64 that `content` alone decides, with so many bytes before it."""
    coded = b64encode(bytes(before) + content).decode().rstrip("=")
    first = -(-before * 8 // 6)
    last = (before + len(content)) * 8 // 6
    return coded[first:last]


def _indexed(forms: Mapping[str, str]) -> _Forms:
    by_piece: dict[str, list[tuple[int, str, str]]] = {}
    for form, name in forms.items():
        window = _window_of(form)
        for at in range(window, window + _STEP):
            by_piece.setdefault(form[at : at + _PIECE], []).append((at, form, name))
    return _Forms(
        {piece: tuple(found) for piece, found in by_piece.items()},
        tuple(sorted(forms)),
        frozenset(form[:end] for form in forms for end in range(1, _HEAD + 1)),
        max(map(len, forms), default=0),
    )


def _window_of(form: str) -> int:
    """Return where the characters are that a form is looked for by: where they differ most.

    The last such place: keys of one service begin alike. Text that is full of these characters by
    chance, such as a line of dashes, would cost time.
    """
    places = range(max(0, len(form) - _WINDOW - _MOST_COMPARED), len(form) - _WINDOW + 1)
    return max(places, key=lambda at: (len(set(form[at : at + _WINDOW])), at))


class StreamedMask:
    """Masks a text that comes in pieces; what may be the beginning of a secret waits for the rest."""

    def __init__(self, mask: SecretMask) -> None:
        self._mask = mask
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown after this piece."""
        if self._mask.is_empty and not self._held:
            return piece
        text = self._held + piece
        cut = self._mask.cut_before_end(text)
        self._held = text[cut:]
        return self._mask.text(text[:cut])

    def close(self) -> str:
        """Return the rest, once no more comes."""
        held, self._held = self._held, ""
        return self._mask.text(held)
