"""Where a text may be cut without splitting what a reader sees as one character.

A small part of Unicode's cluster rules: marks, joiners, variation selectors, skin tones, flags,
Hangul syllables and surrogate pairs. Pure.
"""

import unicodedata

_JOINER = "\u200d"
# A longer pile of marks is not a readable character; it may be cut.
_LONGEST = 64


def cut_before(text: str, at: int) -> int:
    """Return the last place at or before `at` that is not inside a character."""
    place = at
    while place > 0 and at - place < _LONGEST:
        if not _joined(text, place):
            return place
        place -= 1
    return at


def _joined(text: str, at: int) -> bool:
    if at <= 0 or at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    if before == "\r" and after == "\n":
        return True
    if before.isascii() and after.isascii():
        return False
    return _extends(after) or before == _JOINER or _pairs(text, at, before=before, after=after)


def _extends(char: str) -> bool:
    return (
        char == _JOINER
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or unicodedata.category(char) in {"Mn", "Mc", "Me"}
    )


def _pairs(text: str, at: int, *, before: str, after: str) -> bool:
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, at) % 2 == 1
    return _is_jamo(before) and "\u1160" <= after <= "\u11ff"


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    count = 0
    while count < at and _is_flag_letter(text[at - 1 - count]):
        count += 1
    return count


def _is_jamo(char: str) -> bool:
    return "\u1100" <= char <= "\u11ff" or "\uac00" <= char <= "\ud7a3"
