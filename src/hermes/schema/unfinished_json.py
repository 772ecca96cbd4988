"""Detects whether a JSON text stops in the middle, as opposed to being malformed.

If a model writes malformed arguments, the tool reports it to the model; arguments that stop in the
middle mean that the answer is incomplete, whatever its end says, so another model may do better.
"""

import re

import msgspec

# A piece of the inside of a string, up to its closing quote or to the end of the text.
_INSIDE = re.compile(r'(?:[^"\\]{1,4096}+|\\.?){0,64}+', re.DOTALL)


def is_json(text: str) -> bool:
    """Return whether `text` is one JSON value."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True


def is_unfinished(text: str) -> bool:
    """Return whether `text` has begun a string, an object or a list that it does not end."""
    return not is_json(text) and _is_open(text)


def _is_open(text: str) -> bool:
    """Walk the text once; return whether it ends inside a string, or closes less than it opens."""
    depth = at = 0
    while (quote := text.find('"', at)) >= 0:
        depth += _opened(text, at, quote)
        at = _end_of_string(text, quote + 1) + 1
        if at > len(text):
            return True
    return depth + _opened(text, at, len(text)) > 0


def _end_of_string(text: str, at: int) -> int:
    while at < len(text) and text[at] != '"':
        inside = _INSIDE.match(text, at)
        at = len(text) if inside is None else inside.end()
    return at


def _opened(text: str, begin: int, end: int) -> int:
    """Return how many more objects and lists a piece without strings opens than it closes."""
    opened = text.count("{", begin, end) + text.count("[", begin, end)
    return opened - text.count("}", begin, end) - text.count("]", begin, end)
