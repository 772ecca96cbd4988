"""Removes text of a request from the error text with which a service refuses it.

Services often quote a request that they refuse, and some show its headers. Their text is logged,
stored and shown; it must contain neither people's messages nor credentials. It knows no dialect
except for the fields that hold settings: it compares texts, and only after a failure.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import resources

import msgspec

from hermes.message.markup.references import unescape
from hermes.message.pieces import pieces

MASK = "****"
# Shorter runs match by chance; a run without a space is a name, or a word to look up.
_RUN = 16
# This much of the beginning of a credential reveals it: a service may cut its text anywhere.
_BEGINNING = 8
_NO_SECRETS = frozenset({"accept", "content-type", "user-agent"})
# Fields that an operator or a program writes. Everything else may be a person's text.
_SETTINGS = frozenset(
    {
        *("model", "tools", "functions", "tool_choice", "toolConfig", "format", "response_format"),
        *("text", "output_config", "generationConfig", "options", "reasoning", "thinking"),
    }
)
_LONGEST_NAME = 200
# More than any error text that is shown.
_LONGEST_WORDS = 8192
# No word, file or escape of a request goes on behind these.
_APART = '" '
# Files are one long word that contains every short word somewhere.
_FILES = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{4000,}+")
_FILE = re.compile(r"(?:data:[^,\s]{0,200},)?[A-Za-z0-9+/_-]{4000}")
_CHUNK = re.compile(r"""[^\s"'`‘’“”«»=:,;<>()\[\]{}|&]+""")
_EDGES = ".!?*-_/\\#$%^~"
_WORD = re.compile(r"\w+")
# Shorter words and numbers with fewer digits occur everywhere and reveal little.
_WHOLE_WORDS, _DIGITS = 4, 3
_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
_BROKEN = re.compile(r"\\[nrt]")
# With its semicolon: "&parameter" is not an entity.
_ENTITY = re.compile(r"&(?:#\w+|\w+);")
_MASKS = re.compile(r"\*{4}(?:[^\w\s]{0,2}\s?[^\w\s]{0,2}\*{4})+")
_ENDINGS = ("s", "es", "d", "ed", "ing", "ly")
# Scripts without spaces between words: a word is any two characters.
_SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_SPACELESS_RUN = 2


def without_echo(
    words: str, sent: bytes, *, headers: Mapping[str, str], names: Iterable[str] = ()
) -> str:
    """Return an error text without what it quotes of the request that caused it.

    Kept are the usual words of service errors, the names of models, tools and fields, those given
    as `names`, and everything that is not in the request.
    """
    words = words[:_LONGEST_WORDS]
    for name, value in headers.items():
        if name.lower() not in _NO_SECRETS:
            for part in value.split():
                words = _without(words, part)
    text = sent.decode(errors="replace")
    bare = "".join(_FILES.sub("", piece) for piece in pieces(text, marks=_APART))
    words = _plain(_unquoted(words, bare))
    said, named = _read(sent)
    words = _Quotes(said, (*named, *names)).masked(_unquoted(words, said))
    return _MASKS.sub(MASK, words)


def _without(words: str, secret: str) -> str:
    """Return the text without a secret, complete or cut off at its end."""
    if len(secret) < _BEGINNING:
        return words
    at = words.find(secret[:_BEGINNING])
    while at >= 0:
        end = at + _BEGINNING
        while end - at < len(secret) and words[at : end + 1] == secret[: end + 1 - at]:
            end += 1
        words = words[:at] + MASK + words[end:]
        at = words.find(secret[:_BEGINNING], at + len(MASK))
    return words


def _unquoted(words: str, sent: str) -> str:
    kept: list[str] = []
    at = 0
    while at < len(words):
        # No secret begins in the middle of a word: most of the time goes into searching.
        is_inside = at > 0 and words[at - 1].isalnum()
        end = at if is_inside else _end_of_run(words, at, sent=sent, least=_RUN)
        run = words[at:end]
        if " " in run.strip():
            kept.append(run.replace(run.strip(), MASK))
            at = end
        else:
            kept.append(words[at])
            at += 1
    return "".join(kept)


def _end_of_run(words: str, at: int, *, sent: str, least: int) -> int:
    """Return the end of the run that both texts contain, or `at` if it is too short."""
    end = at + least
    if end > len(words) or words[at:end] not in sent:
        return at
    while end < len(words) and words[at : end + 1] in sent:
        end += 1
    return end


class _Quotes:
    """Finds single words of a request: `said` may be private, `names` are not."""

    def __init__(self, said: str, names: Iterable[str]) -> None:
        self._said = said.casefold()
        self._names = set[str]()
        for name in names:
            low = name.casefold()
            self._names.update((low, *_WORD.findall(low)))

    def masked(self, words: str) -> str:
        """Return the text with a mask for each word of the request."""
        return _CHUNK.sub(lambda found: self._chunk(found[0]), words)

    def _chunk(self, chunk: str) -> str:
        """Check what is between spaces and quotes, first as a whole and then word by word."""
        core = chunk.strip(_EDGES)
        parts = _WORD.findall(core)
        if len(parts) > 1 and self._is_private(core, parts):
            return chunk.replace(core, MASK)
        return _WORD.sub(lambda found: self._word(found[0]), chunk)

    def _is_private(self, core: str, parts: list[str]) -> bool:
        low = core.casefold()
        if low in self._names or not self._stands(low, whole=False):
            return False
        digits = sum(char.isdigit() for char in low)
        return digits > _DIGITS or not all(self._may_be_told(part.casefold()) for part in parts)

    def _word(self, word: str) -> str:
        low = word.casefold()
        if self._may_be_told(low):
            return word
        if _SPACELESS.search(word):
            return self._spaceless(word)
        is_short = len(low) < _WHOLE_WORDS or low.isdigit()
        return MASK if self._stands(low, whole=is_short) else word

    def _spaceless(self, word: str) -> str:
        kept = ""
        at = 0
        while at < len(word):
            end = _end_of_run(word, at, sent=self._said, least=_SPACELESS_RUN)
            kept += MASK if end > at else word[at]
            at = max(end, at + 1)
        return kept

    def _stands(self, low: str, *, whole: bool) -> bool:
        """Return whether a private word equals this one or begins with it."""
        said, at = self._said, -1
        while (at := said.find(low, at + 1)) >= 0:
            end = at + len(low)
            begins = at == 0 or not said[at - 1].isalnum()
            if begins and not (whole and end < len(said) and said[end].isalnum()):
                return True
        return False

    def _may_be_told(self, low: str) -> bool:
        if low in self._names or len(low) == 1 or (low.isdigit() and len(low) <= _DIGITS):
            return True
        return all(map(_is_known, filter(None, low.split("_"))))


def _read(sent: bytes) -> tuple[str, set[str]]:
    """Return the texts of a request that may be private, and the names in it that are not."""
    try:
        body = msgspec.json.decode(sent)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = None
    if not isinstance(body, dict):
        return _plain(sent.decode(errors="replace")), set()
    said: list[str] = []
    names = set[str](body)
    for field, value in body.items():
        if field in _SETTINGS:
            names.update(text for text in _texts(value) if _is_name(text))
        else:
            said.extend(text for text in _texts(value) if not _FILE.match(text))
    return _plain("\n".join(said)), names


def _texts(value: object) -> Iterator[str]:
    """Yield every text and number in a value, with its key."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left.extend(one.values())
            left.extend(one)
        elif isinstance(one, list):
            left.extend(one)
        elif one is not None and not isinstance(one, bool):
            yield str(one)


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and not any(map(str.isspace, text))


def _plain(text: str) -> str:
    """Return a text as it was before a service escaped it for its own message."""
    return "".join(map(_unescaped_piece, pieces(text, marks=_APART)))


def _unescaped_piece(text: str) -> str:
    if "\\" in text:
        text = _BROKEN.sub(" ", _ESCAPED.sub(_unescaped, text))
    if "&" in text:
        text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return unicodedata.normalize("NFKC", text)


def _unescaped(found: re.Match[str]) -> str:
    units = b"".join(bytes.fromhex(unit) for unit in found[0].split("\\u")[1:])
    return units.decode("utf-16-be", errors="replace")


def _is_known(word: str) -> bool:
    known = _known_words()
    if word in known:
        return True
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and (stem in known or f"{stem}e" in known):
            return True
    return False


@lru_cache(maxsize=1)
def _known_words() -> frozenset[str]:
    """Return the usual words of service errors."""
    file = resources.files(__package__) / "error_words.toml"
    groups: Mapping[str, str] = tomllib.loads(file.read_text(encoding="utf-8"))
    return frozenset(word for group in groups.values() for word in group.split())
