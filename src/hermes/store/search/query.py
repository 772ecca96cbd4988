"""Parses a search text into index queries, and checks each candidate against the folded text.

Pure. The trigram index only knows which three characters occur in a message, so every candidate is
compared with the folded text. Nothing in a search text is syntax for SQLite.
"""

import re
from typing import NamedTuple

from hermes.errors import BadRequest
from hermes.ports.search import SearchMode
from hermes.store.search.tags import quoted
from hermes.store.search.text_folds import fold, is_single, words_of

MOST_CHARS = 500
_MOST_TERMS = 16
_MOST_PARTS = 24
_MOST_PARTS_OF_ALL = 64
_PART = 3
_TERM = re.compile(r'"([^"]*)"|(\S+)')
_AROUND = 60
_LONGEST = 200
_SPACES = re.compile(r"\s+")


class SearchQuery(NamedTuple):
    """Terms that a message must contain: `parts` anywhere in it, `phrases` as consecutive words."""

    parts: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]
    ignored: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether it can match nothing."""
        return not self.parts and not self.phrases

    def fits(self, folded: str) -> bool:
        """Return whether a folded message contains all terms."""
        if not all(part in folded for part in self.parts):
            return False
        return not self.phrases or self._has_phrases(folded)

    def _has_phrases(self, folded: str) -> bool:
        words = words_of(folded)
        return all(_stands_in(phrase, words, folded) for phrase in self.phrases)


def _stands_in(phrase: tuple[str, ...], words: list[str], folded: str) -> bool:
    # Characters that are words by themselves must be adjacent to match.
    together = "".join(phrase)
    if is_single(together) and together not in folded:
        return False
    size = len(phrase)
    return any(
        tuple(words[at : at + size]) == phrase for at, word in enumerate(words) if word == phrase[0]
    )


def read_question(text: str, mode: SearchMode) -> SearchQuery:
    """Parse a search text; raises `BadRequest` if it is empty or too long."""
    if not text.strip():
        raise BadRequest("There is nothing to look for: write a word, or a part of one.")
    if len(text) > MOST_CHARS:
        raise BadRequest(
            f"The text to look for has {len(text):,} signs; at most {MOST_CHARS} are looked for. "
            "Write the few words that matter."
        )
    parts: list[str] = []
    phrases: list[tuple[str, ...]] = []
    ignored: list[str] = []
    for quote, word in _TERM.findall(text.replace("\0", " ")):
        said = quote or word
        term = fold(_sound(said).strip('"'))
        words = tuple(words_of(term))
        if len(parts) + len(phrases) >= _MOST_TERMS or not term:
            ignored.append(said)
        elif mode == "anywhere" and len(term) >= _PART:
            parts.append(term)
        elif words:
            phrases.append(words)
        else:
            ignored.append(said)
    return SearchQuery(tuple(parts), tuple(phrases), tuple(filter(None, ignored)))


def _sound(text: str) -> str:
    """Return a text without characters that UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def parts_query(question: SearchQuery) -> str:
    """Return the query for the trigram index: what a candidate must contain."""
    parts = {part: None for term in question.parts for part in _parts_of(term)}
    return " AND ".join(map(quoted, list(parts)[:_MOST_PARTS_OF_ALL]))


def words_query(question: SearchQuery) -> str:
    """Return the query for the word index."""
    return " AND ".join(quoted(" ".join(phrase)) for phrase in question.phrases)


def _parts_of(term: str) -> list[str]:
    """Return trigrams of a term; for a long one, some are enough to find candidates."""
    count = len(term) - _PART + 1
    step = max(1, -(-count // _MOST_PARTS))
    starts = {*range(0, count, step), count - 1}
    return sorted({term[start : start + _PART] for start in starts})


def snippet(text: str, question: SearchQuery) -> str:
    """Return the part of a message around the first match, on one line."""
    at = _first_place(text, question)
    start = 0 if len(text) <= _LONGEST or at <= _AROUND else at - _AROUND
    shown = _SPACES.sub(" ", text[start : start + _LONGEST]).strip()
    before = "…" if start else ""
    after = "…" if start + _LONGEST < len(text) else ""
    return f"{before}{shown}{after}"


def _first_place(text: str, question: SearchQuery) -> int:
    """Return the approximate position of the first match in the original text."""
    terms = [*question.parts, *("".join(phrase[:1]) for phrase in question.phrases)]
    folded, places = [], []
    for index, char in enumerate(text):
        made = fold(char) or " "
        folded.append(made)
        places.extend([index] * len(made))
    whole = "".join(folded)
    found = [at for at in map(whole.find, terms) if at >= 0]
    return places[min(found)] if found else 0
