"""Other ways to read a text: what a model may see in it, however it is disguised.

A view knows for each of its characters where in the text it came from, so that a match can be cut
out of the text. Pure; knows no pattern and no family.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import msgspec

_ROT13 = str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")
# A lower-case L, a capital I and a one look the same: all are read as I.
_SKELETON = str.maketrans("l", "i")
_DIGITS = dict(zip("0123456789", "oizeasgtbg", strict=True))
_SIGNS = {"@": "a", "$": "s", "!": "i", "|": "i", "+": "t"}
_LEET = re.compile(r"[0-9]|[@$!|+](?=[^\W_])")
_LONG_RUN = re.compile(r"(.)\1\1+")
# Letters in dark circles and boxes, and regional indicators: Unicode does not decompose them.
_LETTER_BLOCKS = (0x1F150, 0x1F170, 0x1F1E6)
_UNSEEN = frozenset({"Mn", "Me", "Cf"})
_MOST_FOLDED = 4096


class View(msgspec.Struct, frozen=True):
    """A reading of a text; its character `i` came from position `at[i]` of the text.

    If it is `encoded`, a match makes the whole unbroken piece of the text suspect.
    """

    text: str
    at: Sequence[int]
    encoded: bool = False


class Letters(msgspec.Struct, frozen=True):
    """Only the small letters of a text; `starts` marks those that begin a word."""

    text: str
    starts: Sequence[bool]
    at: Sequence[int]

    def skeleton(self) -> str:
        """Return the letters, with look-alikes replaced by one letter."""
        return self.text.translate(_SKELETON)

    def marked(self) -> str:
        """Return the skeleton with the first letter of each word as a capital."""
        pairs = zip(self.skeleton(), self.starts, strict=True)
        return "".join(_capital(letter) if first else letter for letter, first in pairs)

    def rotated(self) -> "Letters":
        """Return the letters, each rotated by thirteen."""
        return Letters(self.text.translate(_ROT13), self.starts, self.at)

    def reversed(self) -> "Letters":
        """Return the letters in reverse order."""
        starts = [True, *self.starts[:0:-1]][: len(self.starts)]
        return Letters(self.text[::-1], starts, self.at[::-1])

    def squashed(self) -> "Letters":
        """Return the letters, with three or more equal ones in a row replaced by one."""
        kept = [True] * len(self.text)
        for run in _LONG_RUN.finditer(self.text):
            kept[run.start() + 1 : run.end()] = [False] * (run.end() - run.start() - 1)
        places = [place for place, is_kept in enumerate(kept) if is_kept]
        return Letters(
            "".join(self.text[place] for place in places),
            [self.starts[place] for place in places],
            [self.at[place] for place in places],
        )


class FoldTable(dict[str, str]):
    """How a character is read: lower case, without accents, look-alikes replaced."""

    def __init__(self, twins: Mapping[str, str]) -> None:
        super().__init__()
        self._twins = twins

    def __missing__(self, char: str) -> str:
        if len(self) >= _MOST_FOLDED:
            self.clear()
        self[char] = folded = self._fold(char)
        return folded

    def _fold(self, char: str) -> str:
        for first in _LETTER_BLOCKS:
            if first <= ord(char) < first + 26:
                return chr(ord("a") + ord(char) - first)
        if char in self._twins:
            return self._twins[char]
        bare = [
            mark for mark in unicodedata.normalize("NFKD", char)
            if unicodedata.category(mark) not in _UNSEEN
        ]  # fmt: skip
        small = chain.from_iterable(self._twins.get(mark, mark).casefold() for mark in bare)
        return "".join(self._twins.get(mark, mark) for mark in small)


def folded(view: View, folding: FoldTable) -> View:
    """Return a view with every character folded."""
    if view.text.isascii():
        return View(view.text.lower(), view.at, view.encoded)
    pairs = [
        (mark, place)
        for char, place in zip(view.text, view.at, strict=True)
        for mark in folding[char]
    ]
    return View("".join(mark for mark, _ in pairs), [place for _, place in pairs], view.encoded)


def without(view: View, is_left_out: Callable[[str], bool]) -> View:
    """Return a view without some characters."""
    kept = [place for place, char in enumerate(view.text) if not is_left_out(char)]
    text = "".join(view.text[place] for place in kept)
    return View(text, [view.at[place] for place in kept], view.encoded)


def letters_of(view: View, folding: FoldTable, *, leet: bool = False) -> Letters:
    """Return the letters of a view; with `leet`, digits and symbols stand for letters."""
    signs = {found.start() for found in _LEET.finditer(view.text)} if leet else frozenset[int]()
    text: list[str] = []
    starts: list[bool] = []
    at: list[int] = []
    is_first, was_capital = True, False
    for number, char in enumerate(view.text):
        is_capital = char.isupper()
        read = folding[char] if number not in signs else _DIGITS.get(char) or _SIGNS[char]
        for mark in read:
            if mark.isalpha():
                text.append(mark)
                starts.append(is_first or (is_capital and not was_capital))
                at.append(view.at[number])
                is_first = False
            else:
                is_first = True
        was_capital = is_capital
    return Letters("".join(text), starts, at)


def has_leet(text: str) -> bool:
    """Return whether a text has digits or symbols that may stand for letters."""
    return _LEET.search(text) is not None


def has_long_run(text: str) -> bool:
    """Return whether a text repeats a character three times or more."""
    return _LONG_RUN.search(text) is not None


def _capital(letter: str) -> str:
    capital = letter.upper()
    return capital if len(capital) == 1 else letter
