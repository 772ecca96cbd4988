"""Ids by a part of them, so that people need not write, and shells can complete, a whole one."""

from typing import Literal, Protocol

import msgspec

# Where a gateway is asked for ids. Both sides name it here: a shell that completes has no time to
# import the table of orders.
IDS_PATH = "/control/ids"
IdKind = Literal["message", "refusal", "call", "person", "channel", "job", "letter", "key"]


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
