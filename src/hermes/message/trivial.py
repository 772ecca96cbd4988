"""Whether a message is small talk: greetings, thanks, an "ok", an emoji, in many languages.

Pure, except that it reads the package's data once. Small talk needs no recall and no tools.
"""

import re
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files

from hermes.message.phrases import Phrases, Words

_STRETCHED = re.compile(r"(.)\1{2,}")
_ECHOED = re.compile(r"(\w\w)\1{2,}")
# Scripts without spaces are read character by character.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_ASKING = frozenset("?？؟")
_MOST_WORDS = 24
_MOST_CHARS = 160
# Words that only accompany others: "and" means nothing, but it is not a greeting either.
_JOINED = "joined"


def is_trivial(text: str) -> bool:
    """Return whether a message is only small talk, symbols or emoji; a bare `?` is a question."""
    if len(text) > _MOST_CHARS:
        return False
    words = _words(text)
    if not words:
        return not _ASKING.intersection(text)
    if len(words) > _MOST_WORDS:
        return False
    spoken, known = _phrases()
    return known.make_up(words) and spoken.stand_in(words)


@cache
def _phrases() -> tuple[Phrases, Phrases]:
    """Return the phrases that are small talk by themselves, and those with accompanying words."""
    text = files(__package__).joinpath("trivial.toml").read_text(encoding="utf-8")
    tables = {name: {_words(one) for one in many} for name, many in tomllib.loads(text).items()}
    joined = tables.pop(_JOINED)
    spoken = set[Words]().union(*tables.values())
    return Phrases(spoken), Phrases(spoken | joined)


def _words(text: str) -> Words:
    bare = text.casefold() if text.isascii() else _without_marks(text.casefold())
    whole = bare.replace("'", "").replace("’", "")
    short = _ECHOED.sub(r"\1\1", _STRETCHED.sub(r"\1", whole))
    return tuple(_WORD.findall(short))


def _without_marks(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text)
    bare = "".join(char for char in apart if unicodedata.category(char) not in {"Mn", "Cf", "Me"})
    return unicodedata.normalize("NFC", bare)
