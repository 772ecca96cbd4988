"""Reads the interaction records of turns, page by page."""

from typing import Any

from hermes.ports.interactions import InteractionRow
from hermes.store.sql.engine import Engine
from hermes.store.sql.queries import load

_SQL = load("interactions")
# Sorts after every id: they begin with a lower-case letter.
_LAST = "~"


class SqlInteractions:
    """Implements `ports.interactions.InteractionStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def page(self, before: str | None, *, limit: int) -> tuple[InteractionRow, ...]:
        """Return the interactions before a message, or the last ones, newest first."""
        return tuple(map(_row, await self._engine.reads.rows(_SQL["page"], before or _LAST, limit)))


# Any: SQLite's values, in the order of the columns that `page` names.
def _row(row: tuple[Any, ...]) -> InteractionRow:
    return InteractionRow(
        message_id=row[0],
        at=row[1],
        person_id=row[2],
        agent=row[3],
        platform=row[4],
        llm_backend=row[5],
        llm_cache_hit=bool(row[6]),
        soul_load_ms=row[7],
        semantic_recall_used=bool(row[8]),
        tools=tuple(row[9].split(",")) if row[9] else (),
        tool_exec_ms=row[10],
        tokens_in=row[11],
        tokens_out=row[12],
        cost_usd=None if row[14] else row[13],
    )
