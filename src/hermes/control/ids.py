"""Short ids: what an id may be shortened to, and which id a part means.

An id is found by its beginning or its end. A part that fits several is refused with what it fits.
"""

from collections.abc import Iterable, Sequence
from typing import get_args

import msgspec

from hermes.errors import BadRequest
from hermes.ports.ids import IdKind, IdsReport, IdStore
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store

# A shorter part is not looked for: it would fit by chance.
SHORTEST = 4
_LONGEST = 200
_MOST_NAMED = 8
_MOST_LISTED = 200
_KINDS = get_args(IdKind)


class IdsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which ids: their kinds, separated by commas, and the part that they begin or end with."""

    kinds: str
    part: str = ""
    limit: WholeNumber = 50


def is_short_for(part: str, whole: str) -> bool:
    """Return whether a part is an id, its beginning, or at least four letters of its end."""
    if len(part) < SHORTEST:
        return part == whole
    return whole.startswith(part) or whole.endswith(part)


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


class IdOperations:
    """Where shells ask which ids there are."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(self, ask: IdsAsk) -> IdsReport:
        """Return ids that begin or end with a part, those of each kind the newest first."""
        if not 1 <= ask.limit <= _MOST_LISTED or len(ask.part) > _LONGEST:
            raise BadRequest(
                f"Expected a limit from 1 to {_MOST_LISTED} and a part of at most {_LONGEST} letters."
            )
        found = [
            one
            for kind in _kinds_of(ask.kinds)
            for one in await self._store.ids.matching(kind, ask.part, limit=ask.limit)
        ]
        return IdsReport(ids=tuple(found[: ask.limit]))


def _kinds_of(text: str) -> Iterable[IdKind]:
    """Return the kinds in a text; raises `BadRequest` for one that does not exist."""
    for name in dict.fromkeys(text.split(",")):
        kind = next((one for one in _KINDS if one == name), None)
        if kind is None:
            raise BadRequest(f"{name[:40]!r} is not a kind of id: expected {', '.join(_KINDS)}.")
        yield kind
