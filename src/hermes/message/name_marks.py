"""Marks of who said what in a chat that several people share: `[Ann] ` before each of her lines. Pure.

Whoever writes may choose their text and their name freely, so a mark is where a line begins and
nowhere else, and no name contains a bracket.
"""

import unicodedata
from typing import Final

_OPEN: Final = "["
_CLOSE: Final = "] "
# Separators, controls and combining characters.
_UNSEEN: Final = "ZCM"
_PLAIN: Final = {"Ps": "(", "Pe": ")"}


def marked_lines(text: str, mark: str) -> str:
    """Return a text with a mark before each line; whatever breaks lines anywhere counts.

    Lines without any text stay as they are, except a text that has no others.
    """
    first, *others = text.splitlines() or [""]
    return "\n".join((mark + first, *(mark + line if line.strip() else line for line in others)))


def mark_of(text: str) -> str:
    """Return the mark that a marked text begins with; empty if it has none."""
    name, close, _ = text.partition(_CLOSE)
    return name + close if close and name.startswith(_OPEN) and "\n" not in name else ""


def looks_marked(text: str) -> bool:
    """Return whether a line of a text could be taken for one with a mark, by any brackets."""
    return any(map(_is_like_marked, text.splitlines()))


def _is_like_marked(line: str) -> bool:
    kinds = (unicodedata.category(char) for char in line)
    first = next((kind for kind in kinds if kind[0] not in _UNSEEN), "")
    return first == "Ps" and next((kind for kind in kinds if kind in _PLAIN), "") == "Pe"


def unmarked(text: str) -> str:
    """Return a marked text as it was written."""
    mark = mark_of(text)
    return text if not mark else "\n".join(line.removeprefix(mark) for line in text.splitlines())


def plain_brackets(text: str) -> str:
    """Return a name or a quotation with round brackets only, so that nothing in it is a mark."""
    return "".join(_PLAIN.get(unicodedata.category(char), char) for char in text)
