"""The sanitiser: removes prompt injections from what a person may edit before it enters a prompt.

It checks how a model would read a value, not how it is written, and cuts out what it finds;
everything else keeps its letters. Pure: no model is called. The structure of the prompt is a second
defence, so an unknown phrase gains nothing by itself.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

import msgspec

from hermes.memory.encodings import readings
from hermes.memory.injections import injections
from hermes.memory.visible import visible
from hermes.message.graphemes import cut_before

VALUE_LENGTH = 200
KEY_LENGTH = 50
# A text that nests injections more often than this is removed completely.
_MOST_ROUNDS = 12
# How much more is read than may stay: injections at the beginning must not push out the rest.
_READ_AHEAD = 8
_STOPS = re.compile(r"[\s.,;:!?…]*")
_PIECE = re.compile(r"\S+")


class TextLimits(msgspec.Struct, frozen=True):
    """How many characters of a value and of a key enter a prompt."""

    value: int = VALUE_LENGTH
    key: int = KEY_LENGTH


class CleanText(msgspec.Struct, frozen=True):
    """The remaining text, and the families of what was removed, each once."""

    text: str
    removed: tuple[str, ...] = ()


def clean_value(text: str, limit: int = VALUE_LENGTH) -> CleanText:
    """Return a value in a form that is safe in a prompt: one short line."""
    return clean_text(text, limit=limit)


def clean_key(text: str, limit: int = KEY_LENGTH) -> CleanText:
    """Return a key in a form that is safe in a prompt: one shorter line."""
    return clean_text(text, limit=limit)


def clean_text(text: str, *, limit: int) -> CleanText:
    """Return a text as one line of at most `limit` characters without injections.

    It cleans again until nothing changes, so that no removal can create a new match. It never
    raises, whatever the text.
    """
    removed: dict[str, None] = {}
    for _ in range(_MOST_ROUNDS):
        seen = visible(text, limit * _READ_AHEAD)
        spans = list(_suspects(seen, removed))
        after = _without(seen, spans) if spans else _fitted(seen, limit)
        if after == text:
            return CleanText(after, tuple(removed))
        text = after
    return CleanText("", tuple(removed))


def _suspects(text: str, removed: dict[str, None]) -> Iterator[tuple[int, int]]:
    """Yield start and end of what must be removed, and record the families."""
    families = injections()
    encoded: list[tuple[int, int]] = []
    for view in readings(text):
        for name, begin, end in families.find(view):
            removed[name] = None
            if view.encoded:
                encoded.append((begin, end))
            else:
                yield begin, end
    yield from _whole_pieces(text, encoded)


def _whole_pieces(text: str, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the unbroken pieces of a text that some spans touch."""
    waiting = sorted(spans, reverse=True)
    for piece in _PIECE.finditer(text) if waiting else ():
        while waiting and waiting[-1][1] <= piece.start():
            waiting.pop()
        if waiting and waiting[-1][0] < piece.end():
            yield piece.span()


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    kept: list[str] = []
    place = 0
    for begin, end in sorted(spans):
        if begin > place:
            kept.append(text[place:begin])
        place = max(place, _end_of(text, end))
    kept.append(text[place:])
    return " ".join(kept)


def _end_of(text: str, end: int) -> int:
    """Return where a removal ends: after its accents and the punctuation behind it."""
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    stops = _STOPS.match(text, end)
    return stops.end() if stops else end


def _fitted(text: str, limit: int) -> str:
    line = text.replace("\n", " ")
    return line[: cut_before(line, limit)].rstrip() if len(line) > limit else line
