"""Finds what makes a value unfit for a message, after the fast check has refused it.

It only makes texts for people; it knows JSON and nothing about graphs.
"""

import math
from collections.abc import Iterator

MAX_DEPTH = 64
_SCALARS = (str, int, float, bool, type(None))

Place = tuple[str | int, ...]
Found = tuple[Place, object, tuple[int, ...]]


def is_too_deep(value: object, data: bytes) -> bool:
    """Return whether `value` is nested deeper than the limit; `data` is the same value as JSON."""
    # A level needs two brackets: a short value, or one with few brackets, need not be walked.
    if len(data) <= 2 * MAX_DEPTH or data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return False
    return any(len(place) >= MAX_DEPTH for place, _, _ in _walk(value))


def why_refused(value: object) -> str:
    """Return a text that names the place, what was expected and what was found."""
    for place, found, above in _walk(value):
        reason = _reason(found, place, above)
        if reason:
            return f"A message is plain JSON, but at {_named(place)} there is {reason}."
    return "A message is plain JSON, but this one changes when it is written and read back."


def _reason(found: object, place: Place, above: tuple[int, ...]) -> str | None:
    if isinstance(found, dict | list):
        return _reason_of_container(found, place, above)
    if isinstance(found, str):
        return _reason_of_text(found)
    if isinstance(found, float) and not math.isfinite(found):
        return f"the number {found}; JSON does not allow it: use a finite number or a text"
    if isinstance(found, _SCALARS):
        return None
    kind = type(found).__name__
    return f"a value of type {kind}; use a text, a number, a list or a dict instead"


def _reason_of_container(
    found: dict[object, object] | list[object], place: Place, above: tuple[int, ...]
) -> str | None:
    if id(found) in above:
        return "a container that contains itself; pass a copy without the cycle"
    if len(place) >= MAX_DEPTH:
        return f"a nesting of more than {MAX_DEPTH} levels; flatten it"
    if isinstance(found, dict):
        for key in found:
            if not isinstance(key, str):
                return f"the key {key!r} of type {type(key).__name__}; keys are texts"
            if _reason_of_text(key):
                return f"a key with {_reason_of_text(key)}"
    return None


def _reason_of_text(found: str) -> str | None:
    try:
        found.encode()
    except UnicodeEncodeError as problem:
        return (
            f"half a surrogate pair ({found[problem.start]!a}, character {problem.start}), "
            "which is not text; decode with errors='replace'"
        )
    if type(found).__mro__[1:3] == (str, object):
        return f"a text of the subclass {type(found).__name__}; pass it through str() first"
    return None


def _walk(value: object) -> Iterator[Found]:
    # A stack, because the value may be too deep for recursion. The limit ends cycles, too.
    stack: list[Found] = [((), value, ())]
    while stack:
        place, found, above = stack.pop()
        yield place, found, above
        if len(place) >= MAX_DEPTH:
            continue
        inside = (*above, id(found))
        if isinstance(found, dict):
            children = [((*place, str(key)), child, inside) for key, child in found.items()]
            stack.extend(reversed(children))
        elif isinstance(found, list):
            stack.extend(((*place, n), found[n], inside) for n in reversed(range(len(found))))


def _named(place: Place) -> str:
    if not place:
        return "its top"
    return "".join(f"[{step!r}]" for step in place)
