"""Folds texts for the index: cut, without case and accents, split into words.

Both sides of a search are folded here, so that they are comparable. SQLite's tokenizers are not
used: their Unicode tables are older and cannot be queried.
"""

import re
import unicodedata

MOST_BYTES = 2_048
# With another table of letters the same text may fold differently: then the index is rebuilt.
FOLDING = f"1:{unicodedata.unidata_version}"
# Accents of letters, and invisible characters.
_DROPPED = re.compile("[\u0300-\u036f\ufe00-\ufe0f\u00ad\u200b\u2060\ufeff]")
# The index itself uses these to mark whose a message is.
_RESERVED = re.compile("[\U000f0000-\U0010ffff]")
# Scripts without spaces, and emoji: each character is a word.
_SINGLE = (
    "\u1100-\u11ff\u2190-\u2bff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c"
    "\u3041-\u31ff\u3400-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
# Vowel signs of Indic scripts and Thai belong to their word, whatever Python calls them.
_WORD = re.compile(rf"[{_SINGLE}]|(?:[^\W{_SINGLE}]|[\u0900-\u0963\u0966-\u0eff])+")
_ALL_SINGLE = re.compile(rf"[{_SINGLE}]+")


def cut(text: str) -> str:
    """Return the beginning of a text, as much as is indexed."""
    if len(text) * 4 > MOST_BYTES or not text.isascii():
        text = text.encode("utf-8", "replace")[:MOST_BYTES].decode("utf-8", "ignore")
    return text.replace("\0", " ")


def fold(text: str) -> str:
    """Return a text in lower case, without accents, with single spaces."""
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text)
        text = unicodedata.normalize("NFKC", _DROPPED.sub("", apart)).casefold()
        return " ".join(_RESERVED.sub("\ufffd", text).split())
    return " ".join(text.lower().split())


def words_of(folded: str) -> list[str]:
    """Return the words of a folded text; a character written without spaces is a word too."""
    return _WORD.findall(folded)


def as_words(folded: str) -> str:
    """Return a folded text with only its words, for the word index."""
    # SQLite splits at these, too.
    return folded if folded.isascii() else " ".join(words_of(folded))


def is_single(folded: str) -> bool:
    """Return whether every character of a folded text is a word."""
    return _ALL_SINGLE.fullmatch(folded) is not None
