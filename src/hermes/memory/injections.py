"""The families of prompt injections: their data, compiled, and where they occur in a reading.

The data is `injections.toml`, which explains how a phrase is written. No pattern repeats without a
limit, so the time is proportional to the text.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files

import msgspec

from hermes.memory.disguise import (
    FoldTable,
    Letters,
    View,
    folded,
    has_leet,
    has_long_run,
    letters_of,
    without,
)

# A letter inside a word of a script that has capitals; all others may begin and end a phrase.
_INSIDE = re.compile("[a-zα-ωа-џ]")
# A phrase with this many letters is not an accident, even inside a longer word.
_LONG = 12
_HEAD = 5
_GAP = r"[^\W\d_]{0,24}?"
_TIMES = {"?": "{0,1}", "*": "{0,4}"}
_MARK = re.compile(r"[^\w\s.,'()-]|--|__")


class PhraseFamily(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One family as its data describes it."""

    name: str
    about: str
    example: str
    phrases: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


class _Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: Mapping[str, tuple[str, ...]]
    family: tuple[PhraseFamily, ...]
    looks_like: Mapping[str, str]


class PhraseSlot(msgspec.Struct, frozen=True):
    """One position of a phrase: its possible words, and how often; without words it is a gap."""

    words: tuple[str, ...] = ()
    times: str = ""

    @property
    def pattern(self) -> str:
        """The position as a regular expression."""
        return f"(?:{'|'.join(self.words)}){self.times}" if self.words else _GAP


class Phrase:
    """A phrase of one family, compiled when a text first contains its rarest part."""

    def __init__(self, slots: Sequence[PhraseSlot], unless: tuple[str, ...]) -> None:
        self._slots = slots
        self._unless = unless
        needed = [slot.words for slot in slots if not slot.times and slot.words]
        self.anchors = max(needed, key=lambda words: min(map(len, words)))

    def places(self, lower: str, marked: str) -> Iterator[tuple[int, int]]:
        """Yield where it occurs in the letters of a text."""
        if not any(anchor in lower for anchor in self.anchors):
            return
        for found in self._pattern.finditer(marked):
            begin, end = found.span()
            is_whole = not (_is_inside(marked, begin) or _is_inside(marked, end))
            is_excused = self._unless and lower.endswith(self._unless, 0, begin)
            if (is_whole or end - begin >= _LONG) and not is_excused:
                yield begin, end

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        core = "".join(slot.pattern for slot in self._slots)
        inside = _INSIDE.pattern
        begun = f"(?!{inside})(?i:{core})"
        # Whole words if there are any, else the beginning of one, else letters without a gap.
        return re.compile(f"{begun}(?!{inside})|{begun}|{core}")


class _Index:
    """Which phrases a text can contain at all, by the first letters of their rarest parts."""

    def __init__(self) -> None:
        self._named: dict[Phrase, str] = {}
        self._by_head: dict[str, list[Phrase]] = {}
        self._sizes: set[int] = set()

    def add(self, name: str, phrase: Phrase) -> None:
        self._named[phrase] = name
        for head in {anchor[:_HEAD] for anchor in phrase.anchors}:
            self._by_head.setdefault(head, []).append(phrase)
            self._sizes.add(len(head))

    def candidates(self, lower: str) -> Iterator[tuple[str, Phrase]]:
        found: dict[Phrase, None] = {}
        for size in self._sizes:
            pieces = {lower[place : place + size] for place in range(len(lower) - size + 1)}
            for head in pieces & self._by_head.keys():
                found |= dict.fromkeys(self._by_head[head])
        for phrase in found:
            yield self._named[phrase], phrase


class Injections:
    """All families, ready to search for."""

    def __init__(self, data: _Data) -> None:
        twins = {char: read for read, chars in data.looks_like.items() for char in chars}
        self.families = data.family
        self._folding = FoldTable(twins)
        self._phrases = _Index()
        for family in data.family:
            for text in family.phrases:
                self._phrases.add(family.name, self._phrase(text, data.words))
        self._marks = _compiled((family.name, family.marks) for family in data.family)
        self._lines = _compiled((family.name, family.lines) for family in data.family)
        self._texts = _compiled((family.name, family.texts) for family in data.family)

    def find(self, view: View) -> Iterator[tuple[str, int, int]]:
        """Yield each family that occurs in a reading, with start and end in the text."""
        for letters in self._spellings(view):
            yield from self._in_letters(letters)
        text = folded(view, self._folding)
        yield from _in_text(self._texts, text)
        if _MARK.search(text.text):
            yield from _in_text(self._marks, without(text, str.isspace))
            yield from _in_text(self._lines, without(text, _is_space_in_line))

    def _spellings(self, view: View) -> Iterator[Letters]:
        plain = letters_of(view, self._folding)
        yield from (plain, plain.rotated(), plain.reversed())
        if has_long_run(plain.text):
            yield plain.squashed()
        if has_leet(view.text):
            leet = letters_of(view, self._folding, leet=True)
            yield leet
            if has_long_run(leet.text):
                yield leet.squashed()

    def _in_letters(self, letters: Letters) -> Iterator[tuple[str, int, int]]:
        lower, marked = letters.skeleton(), letters.marked()
        found = sorted(
            (begin, end, name)
            for name, phrase in self._phrases.candidates(lower)
            for begin, end in phrase.places(lower, marked)
        )
        first = last = -1
        for begin, end, name in found:
            # A word is measured once, however much was found in it.
            if begin < first or end > last + 1:
                first, last = _whole_words(marked, begin, end)
            places = letters.at[first], letters.at[last]
            yield name, min(places), max(places) + 1

    def _phrase(self, text: str, words: Mapping[str, tuple[str, ...]]) -> Phrase:
        unless: tuple[str, ...] = ()
        slots: list[PhraseSlot] = []
        for raw in text.split():
            if raw == "~":
                slots.append(PhraseSlot())
                continue
            times = _TIMES.get(raw[-1], "")
            alternatives = self._letters(raw.lstrip("!").rstrip("?*").split("|"), words)
            if raw.startswith("!"):
                unless = alternatives
            else:
                slots.append(PhraseSlot(alternatives, times))
        return Phrase(slots, unless)

    def _letters(
        self, alternatives: list[str], words: Mapping[str, tuple[str, ...]]
    ) -> tuple[str, ...]:
        """Return alternatives as their letters, the longest first."""
        lists = [words[one[1:]] if one.startswith("@") else (one,) for one in alternatives]
        spelt = {
            letters_of(View(one, range(len(one))), self._folding).skeleton()
            for many in lists
            for one in many
        }
        return tuple(sorted(spelt, key=lambda one: (-len(one), one)))


@cache
def injections() -> Injections:
    """Return the families of the shipped data, read once."""
    text = files(__package__).joinpath("injections.toml").read_text(encoding="utf-8")
    return Injections(msgspec.convert(tomllib.loads(text), _Data))


def _compiled(tables: Iterable[tuple[str, tuple[str, ...]]]) -> list[tuple[str, re.Pattern[str]]]:
    """Return the expressions of each family as one."""
    return [
        (name, re.compile("|".join(f"(?:{one})" for one in patterns)))
        for name, patterns in tables
        if patterns
    ]


def _in_text(
    patterns: list[tuple[str, re.Pattern[str]]], view: View
) -> Iterator[tuple[str, int, int]]:
    for name, pattern in patterns:
        for found in pattern.finditer(view.text):
            if found.end() > found.start():
                yield name, view.at[found.start()], view.at[found.end() - 1] + 1


def _is_space_in_line(char: str) -> bool:
    return char.isspace() and char != "\n"


def _whole_words(marked: str, begin: int, end: int) -> tuple[int, int]:
    """Return the first and the last letter of the words that a match touches."""
    while begin > 0 and _is_inside(marked, begin):
        begin -= 1
    while _is_inside(marked, end):
        end += 1
    return begin, end - 1


def _is_inside(marked: str, place: int) -> bool:
    return _INSIDE.match(marked, place) is not None
