"""Ids by a part of them, so that people need not write, and shells can complete, a whole one."""

from typing import Literal, Protocol

import msgspec

from hermes.message.short_ids import SHORTEST, only_one

# Where a gateway is asked for ids. Both sides name it here: a shell that completes has no time to
# import the table of orders.
IDS_PATH = "/control/ids"
IdKind = Literal[
    "message",
    "refusal",
    "delivery",
    "call",
    "person",
    "channel",
    "job",
    "letter",
    "key",
    "answer",
    "replay",
]
_LONGEST = 200
# One more than an error names, so that it can say that there are more.
_MOST_FOUND = 9


class IdsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Ids that begin or end with a part."""

    ids: tuple[str, ...] = ()


class IdStore(Protocol):
    """Ids of what is stored."""

    async def matching(self, kind: IdKind, part: str, *, limit: int) -> tuple[str, ...]:
        """Return ids of a kind that begin or end with a part, the newest first.

        Ends are looked for among the newest only; channels are found by their beginning.
        """
        ...


async def whole_id(ids: IdStore, part: str, *kinds: IdKind, is_listed: bool = True) -> str | None:
    """Return the id of these kinds that a part is short for; None if there is none.

    Raises `BadRequest` if there are several; it names them where `is_listed`.
    """
    if not SHORTEST <= len(part) <= _LONGEST:
        return None
    found = [one for kind in kinds for one in await ids.matching(kind, part, limit=_MOST_FOUND)]
    return only_one(part, found, is_listed=is_listed)
