"""The one "did you mean": the known word that a mistyped word was meant to be, if any is near. Pure."""

from collections.abc import Iterable

# So many letters of a word for each error that it may have; a longer word may not have more.
_LETTERS_PER_ERROR = 4
_LONGEST = 12
_LEAST_SHORTENED = 3


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word with the fewest typing errors; None if every one is too far."""
    return next(iter(_mistyped(word.casefold(), known)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the question in brackets, to stand in an error after the word; nothing if none is near."""
    meant = nearest(word, known)
    return f" (did you mean {meant}?)" if meant else ""


def near_words(word: str, known: Iterable[str], *, most: int) -> tuple[str, ...]:
    """Return the known words that are near, the nearest first, at most `most`.

    After those with typing errors come those that the word shortens, as `usr` shortens `users`.
    """
    word, words = word.casefold(), tuple(known)
    mistyped = _mistyped(word, words)
    shortened = [one for one in words if one not in mistyped and _shortens(word, one.casefold())]
    return (*mistyped, *shortened)[:most]


def _mistyped(word: str, known: Iterable[str]) -> list[str]:
    ranked = sorted((distance(word, other.casefold()), other) for other in known)
    return [other for errors, other in ranked if errors <= _most(word, other)]


def _shortens(word: str, other: str) -> bool:
    """Return whether a word is another one without some of its letters, at most half of them."""
    if not _LEAST_SHORTENED <= len(word) < len(other) <= 2 * len(word) or word[0] != other[0]:
        return False
    rest = iter(other)
    return all(letter in rest for letter in word)


def distance(first: str, second: str) -> int:
    """Return how many typing errors lie between two words.

    An error is a letter that is missing, added or another one, or two neighbours exchanged.
    """
    before: list[int] = []
    last = list(range(len(second) + 1))
    for row, letter in enumerate(first, 1):
        now = [row]
        for column, other in enumerate(second, 1):
            cost = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == second[column - 2] and other == first[row - 2]:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]


def _most(word: str, other: str) -> int:
    """Return how many errors a word of this length can have and still be recognised."""
    return max(1, min(len(word), len(other), _LONGEST) // _LETTERS_PER_ERROR)
