"""Text as it is shown to somebody who has to trust what they see: nothing in it is hidden. Pure."""

import re
import unicodedata
from typing import Final

import msgspec

# Direction marks and other letters without a shape, and line ends that few programs know.
_HIDDEN: Final = frozenset({"Cf", "Zl", "Zp"})
# These join letters and emoji of ordinary texts, and move and hide nothing.
_JOINERS: Final = "\u200c\u200d"
# White space, and letters that are drawn as such; in JSON, line ends and tabs are escapes.
_BLANK: Final = r"[\s\u115f\u1160\u2800\u3164\uffa0]"
_RUNS: Final = re.compile(rf"((?:{_BLANK}|\\[nrtf]){{2,}})|\\.")


def without_hidden(text: str) -> str:
    """Return a text in which letters that nobody sees are escapes, but for joiners."""
    return text if text.isascii() else "".join(map(_shown, text))


def shown_arguments(arguments: str, *, most: int) -> str:
    """Return a call's arguments for a person to judge: compact, at most so many letters and how many
    more there are."""
    folded = _RUNS.sub(_folded, _compact(arguments))
    shown = "".join(char if char.isprintable() else _escape(char) for char in folded)
    more = len(shown) - most
    return shown if more <= 0 else f"{shown[:most]}… {more:,} more letters"


def shown_lines(text: str, *, most: int) -> str:
    """Return a text for a person to judge, in its own lines: at most so many letters and how many more
    there are."""
    kept = "".join(
        char if char.isprintable() or char == "\n" else _escape(char) for char in text[:most]
    )
    more = len(text) - most
    return kept if more <= 0 else f"{kept}… {more:,} more letters"


def _compact(arguments: str) -> str:
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments)).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return arguments


def _folded(run: re.Match[str]) -> str:
    """Return one space for a run of white space, or one line end if the run has any."""
    if run[1] is None:
        return run[0]
    return r"\n" if re.search(r"\\[nr]|[\n\r]", run[1]) else " "


def _shown(char: str) -> str:
    is_hidden = char not in _JOINERS and unicodedata.category(char) in _HIDDEN
    return _escape(char) if is_hidden else char


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()
