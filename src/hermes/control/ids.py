"""Which ids there are, by their beginning or end: what a shell completes."""

from collections.abc import Iterable
from typing import get_args

import msgspec

from hermes.control.sessions import SessionOperations, SessionsAsk
from hermes.control.tokens import TokenOperations
from hermes.errors import BadRequest
from hermes.ports.ids import IdKind, IdsReport
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store

_LONGEST = 200
_MOST_LISTED = 200
_STORED: tuple[IdKind, ...] = get_args(IdKind)
_KINDS = (*_STORED, "session", "token")


class IdsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which ids: their kinds, separated by commas, and the part that they begin or end with."""

    kinds: str
    part: str = ""
    limit: WholeNumber = 50


class IdOperations:
    """Where shells ask which ids there are."""

    def __init__(
        self, store: Store, *, sessions: SessionOperations, tokens: TokenOperations
    ) -> None:
        self._store = store
        self._sessions = sessions
        self._tokens = tokens

    async def find(self, ask: IdsAsk) -> IdsReport:
        """Return ids that begin or end with a part, those of each kind the newest first."""
        if not 1 <= ask.limit <= _MOST_LISTED or len(ask.part) > _LONGEST:
            raise BadRequest(
                f"Expected a limit from 1 to {_MOST_LISTED} and a part of at most {_LONGEST} letters."
            )
        found = [one for kind in _kinds_of(ask.kinds) for one in await self._matching(kind, ask)]
        return IdsReport(ids=tuple(found[: ask.limit]))

    async def _matching(self, name: str, ask: IdsAsk) -> Iterable[str]:
        kind = next((one for one in _STORED if one == name), None)
        if kind is not None:
            return await self._store.ids.matching(kind, ask.part, limit=ask.limit)
        if name == "session":
            known = [one.id for one in (await self._sessions.list(SessionsAsk())).sessions]
        else:
            report = await self._tokens.list()
            known = [
                *(one.id for one in report.tokens),
                *(one.id for one in report.sessions),
            ]
        return [one for one in known if one.startswith(ask.part) or one.endswith(ask.part)]


def _kinds_of(text: str) -> tuple[str, ...]:
    """Return the kinds in a text; raises `BadRequest` for one that does not exist."""
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in _KINDS:
            raise BadRequest(f"{name[:40]!r} is not a kind of id: expected {', '.join(_KINDS)}.")
    return names
