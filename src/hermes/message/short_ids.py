"""The rule for short ids: which of several ids a part of one means. Pure.

A part is at least four letters of the beginning or end of an id. One that fits several is refused,
with their names where whoever asks may list them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hermes.errors import BadRequest

_Named = TypeVar("_Named")
# A shorter part is not looked for: it would fit by chance.
SHORTEST = 4
_MOST_NAMED = 8


def is_short_for(part: str, whole: str) -> bool:
    """Return whether a part is an id, or at least four letters of its beginning or end."""
    return part == whole or (
        len(part) >= SHORTEST and (whole.startswith(part) or whole.endswith(part))
    )


def find_short(
    part: str,
    known: Mapping[str, _Named],
    *,
    label: Callable[[_Named], str] | None = None,
    is_listed: bool = True,
) -> _Named | None:
    """Return what an id or a part of one means; None if nothing does.

    Raises `BadRequest` if several do; where `is_listed`, it has the `label` of each, or its id.
    """
    if part in known:
        return known[part]
    found = {name: one for name, one in known.items() if is_short_for(part, name)}
    names = [label(one) for one in found.values()] if label else list(found)
    only = only_one(part, names, is_listed=is_listed)
    return None if only is None else next(iter(found.values()))


def only_one(part: str, found: Sequence[str], *, is_listed: bool = True) -> str | None:
    """Return the only id that was found, None if none was; raises `BadRequest` if there are several.

    The error names them only where `is_listed`.
    """
    if len(found) < 2:
        return next(iter(found), None)
    named = ", ".join(found[:_MOST_NAMED])
    more = " and more" if len(found) > _MOST_NAMED else ""
    names = f": {named}{more}" if is_listed else ""
    raise BadRequest(
        f"{part[:40]!r} is short for several ids{names}. Write more of the one you mean."
    )
