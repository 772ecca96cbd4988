"""Short ids: which id a part of it means. A part that fits several ids is refused with them."""

from collections.abc import Sequence

from hermes.errors import BadRequest
from hermes.ports.ids import IdKind, IdStore

# A shorter part is not looked for: it would fit by chance.
SHORTEST = 4
_LONGEST = 200
_MOST_NAMED = 8


def is_short_for(part: str, whole: str) -> bool:
    """Return whether a part is an id, or at least four letters of its beginning or end."""
    return part == whole or (
        len(part) >= SHORTEST and (whole.startswith(part) or whole.endswith(part))
    )


def only_one(part: str, found: Sequence[str]) -> str | None:
    """Return the only id that was found; raises `BadRequest` with the ids if there are several."""
    if len(found) < 2:
        return next(iter(found), None)
    named = ", ".join(found[:_MOST_NAMED])
    more = " and more" if len(found) > _MOST_NAMED else ""
    raise BadRequest(
        f"{part[:40]!r} is short for several ids: {named}{more}. Write more of the one you mean."
    )


async def whole_id(ids: IdStore, part: str, *kinds: IdKind) -> str | None:
    """Return the id of these kinds that a part is short for; None if there is none."""
    if not SHORTEST <= len(part) <= _LONGEST:
        return None
    found = [one for kind in kinds for one in await ids.matching(kind, part, limit=_MOST_NAMED + 1)]
    return only_one(part, found)
