"""Marks inside the index: whose a message is and where it was said, as terms like any other.

So a search for a person's messages is one walk through the index, however much others said. A mark
is three signs that no folded text contains, since the index of parts has terms of three signs.
"""

from enum import IntEnum

_FIRST = 0xF0000
_DIGIT_BITS = 12
_DIGIT = (1 << _DIGIT_BITS) - 1


class Tag(IntEnum):
    """What a mark tells; a subagent's messages have an owner, and nobody who may see them."""

    PERSON = 0
    CHAT = 1
    AGENT = 2
    PLATFORM = 3
    OWNER = 4


def mark(tag: Tag, number: int) -> str:
    """Return the mark of a number."""
    digits = (
        (tag << _DIGIT_BITS) | (number >> 2 * _DIGIT_BITS),
        number >> _DIGIT_BITS & _DIGIT,
        number & _DIGIT,
    )
    return "".join(chr(_FIRST + digit) for digit in digits)


def quoted(term: str) -> str:
    """Return a term as a query says it; nothing in it can mean anything else."""
    doubled = term.replace('"', '""')
    return f'"{doubled}"'
