"""Marks inside the index: the owner and the place of a message, as terms like any other.

So a search for a person's messages is one scan of the index, however much others said. A mark is
three characters that no folded text contains, because the index has terms of three characters.
"""

from enum import IntEnum

_FIRST = 0xF0000
_DIGIT_BITS = 12
_DIGIT = (1 << _DIGIT_BITS) - 1


class Tag(IntEnum):
    """What a mark means; a subagent's messages have an owner, but nobody may see them."""

    PERSON = 0
    CHAT = 1
    AGENT = 2
    PLATFORM = 3
    OWNER = 4


def mark(tag: Tag, number: int) -> str:
    """Return the mark of a number."""
    first = (tag << _DIGIT_BITS) | (number >> 2 * _DIGIT_BITS)
    second = number >> _DIGIT_BITS & _DIGIT
    # A message has several marks, and this takes half as long as a loop.
    return chr(_FIRST + first) + chr(_FIRST + second) + chr(_FIRST + (number & _DIGIT))


def quoted(term: str) -> str:
    """Return a term quoted for a query; nothing in it is syntax."""
    doubled = term.replace('"', '""')
    return f'"{doubled}"'
