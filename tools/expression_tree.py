"""Reads the parsed tree of a regular expression: what its nodes are, and which characters one takes.

Shared by the gate that judges the shapes of expressions and by the inputs that time them.
"""

import re
from functools import lru_cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

__all__ = ["REPEATS", "SINGLE", "Node", "fits", "parser", "sre"]

SINGLE = (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN)
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
# Any: the parser's nodes are pairs of an opcode and whatever that opcode needs.
Node = Any
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


def fits(code: Node, given: Node, forms: frozenset[str], *, is_dotall: bool = False) -> bool:
    """Return whether a node of a single character takes one that has these forms, such as cases."""
    if code is sre.ANY:
        return is_dotall or "\n" not in forms
    if code in (sre.LITERAL, sre.NOT_LITERAL):
        return (chr(given) in forms) is (code is sre.LITERAL)
    return _is_in(tuple(given), forms)


@lru_cache(maxsize=65_536)
def _is_in(items: tuple[Node, ...], forms: frozenset[str]) -> bool:
    is_negated = bool(items) and items[0][0] is sre.NEGATE
    return is_negated is not any(_is_among(code, given, forms) for code, given in items)


def _is_among(code: Node, given: Node, forms: frozenset[str]) -> bool:
    if code is sre.LITERAL:
        return chr(given) in forms
    if code is sre.RANGE:
        return any(len(one) == 1 and given[0] <= ord(one) <= given[1] for one in forms)
    if code is sre.CATEGORY:
        return any(re.match(_CATEGORIES[given], one) is not None for one in forms)
    return False
