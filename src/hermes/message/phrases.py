"""Phrases of several words: whether a message begins with one or consists of them. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

Words = tuple[str, ...]


class Phrases:
    """A set of phrases, found by their first word."""

    def __init__(self, phrases: Iterable[Words]) -> None:
        self._known = frozenset(phrases) - {()}
        self._sizes = _sizes(self._known)

    def __bool__(self) -> bool:
        return bool(self._known)

    def make_up(self, words: Words) -> bool:
        """Return whether the words consist only of phrases, one after another."""
        reached, ends = {0}, [0] if words else []
        while ends:
            found = [end for end in self._ends(words, ends.pop()) if end not in reached]
            if len(words) in found:
                return True
            reached.update(found)
            ends += found
        return False

    def begin(self, words: Words) -> bool:
        """Return whether the words begin with a phrase."""
        return bool(words and self._ends(words, 0))

    def stand_in(self, words: Words) -> bool:
        """Return whether a phrase is anywhere in the words."""
        return any(self._ends(words, start) for start in range(len(words)))

    def _ends(self, words: Words, start: int) -> list[int]:
        """Return the ends of the phrases that begin at a word."""
        sizes = self._sizes.get(words[start], ())
        return [start + size for size in sizes if words[start : start + size] in self._known]


def _sizes(phrases: Iterable[Words]) -> Mapping[str, tuple[int, ...]]:
    """Return the lengths, in words, of the phrases with a first word."""
    sizes: dict[str, set[int]] = defaultdict(set)
    for phrase in phrases:
        sizes[phrase[0]].add(len(phrase))
    return {word: tuple(sorted(some)) for word, some in sizes.items()}
