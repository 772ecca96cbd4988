"""The provenance of turns, as the operator lists it: the last ones, or narrowed down."""

import asyncio

import msgspec

from hermes.control.consent import find_person
from hermes.errors import BadRequest
from hermes.ports.interactions import InteractionRow
from hermes.ports.request_numbers import Instant, WholeNumber
from hermes.ports.store import Store

MOST_INTERACTIONS = 1_000
_PAGE = 500
# A turn may end long after its message was accepted, and rows stand in the order of acceptance.
_LATE_S = 86_400.0


class InteractionAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which turns; `user` is `platform:user_id`, or the id of a person."""

    user: str | None = None
    agent: str | None = None
    platform: str | None = None
    model: str | None = None
    tool: str | None = None
    since: Instant | None = None
    limit: WholeNumber = 20


class InteractionsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Turns, the newest first."""

    interactions: tuple[InteractionRow, ...] = ()


class InteractionOperations:
    """Where operators ask for the provenance of turns."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self, ask: InteractionAsk) -> InteractionsReport:
        """Return the turns that are asked for; other work goes on between two pages."""
        if not 1 <= ask.limit <= MOST_INTERACTIONS:
            raise BadRequest(
                f"{ask.limit} is no number of turns: expected 1 to {MOST_INTERACTIONS:,}."
            )
        person_id = (
            None if ask.user is None else (await find_person(self._store.people, ask.user)).id
        )
        found: list[InteractionRow] = []
        before: str | None = None
        while True:
            page = await self._store.interactions.page(before, limit=_PAGE)
            found.extend(row for row in page if _fits(row, ask, person_id=person_id))
            is_over = len(page) < _PAGE or page[-1].at < (ask.since or 0.0) - _LATE_S
            if is_over or len(found) >= ask.limit:
                return InteractionsReport(interactions=tuple(found[: ask.limit]))
            before = page[-1].message_id
            await asyncio.sleep(0)


def _fits(row: InteractionRow, ask: InteractionAsk, *, person_id: str | None) -> bool:
    wanted = (
        (person_id, row.person_id),
        (ask.agent, row.agent),
        (ask.platform, row.platform),
        (ask.model, row.llm_backend),
    )
    if any(want is not None and want != has for want, has in wanted):
        return False
    if ask.tool is not None and ask.tool not in row.tools:
        return False
    return ask.since is None or row.at >= ask.since
