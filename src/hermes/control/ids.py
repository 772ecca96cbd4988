"""Which ids and names there are, by their beginning or end: what a shell completes."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import get_args

import msgspec

from hermes.errors import BadRequest
from hermes.ports.ids import IdKind, IdsReport
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store

_LONGEST = 200
_MOST_LISTED = 200
_STORED: tuple[IdKind, ...] = get_args(IdKind)
# Returns all ids or names of a kind.
ListAll = Callable[[], Awaitable[Iterable[str]]]


class IdsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which ids: their kinds, separated by commas, and the part that they begin or end with."""

    kinds: str
    part: str = ""
    limit: WholeNumber = 50


class IdOperations:
    """Where shells ask which ids there are; `others` list the kinds that are in no table."""

    def __init__(self, store: Store, *, others: Mapping[str, ListAll]) -> None:
        self._store = store
        self._others = others

    async def find(self, ask: IdsAsk) -> IdsReport:
        """Return ids that begin or end with a part, those of each kind the newest first."""
        if not 1 <= ask.limit <= _MOST_LISTED or len(ask.part) > _LONGEST:
            raise BadRequest(
                f"Expected a limit from 1 to {_MOST_LISTED} and a part of at most {_LONGEST} letters."
            )
        kinds = self._kinds_of(ask.kinds)
        found = [one for kind in kinds for one in await self._matching(kind, ask)]
        return IdsReport(ids=tuple(found[: ask.limit]))

    async def _matching(self, name: str, ask: IdsAsk) -> Iterable[str]:
        kind = next((one for one in _STORED if one == name), None)
        if kind is not None:
            return await self._store.ids.matching(kind, ask.part, limit=ask.limit)
        known = await self._others[name]()
        return [one for one in known if one.startswith(ask.part) or one.endswith(ask.part)]

    def _kinds_of(self, text: str) -> tuple[str, ...]:
        """Return the kinds in a text; raises `BadRequest` for one that does not exist."""
        known = (*_STORED, *self._others)
        names = tuple(dict.fromkeys(text.split(",")))
        for name in names:
            if name not in known:
                raise BadRequest(f"{name[:40]!r} is not a kind of id: expected {', '.join(known)}.")
        return names
