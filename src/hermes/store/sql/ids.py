"""Ids by a part of them; how many rows are looked at is bounded."""

from hermes.ports.ids import IdKind
from hermes.store.sql.engine import Engine
from hermes.store.sql.queries import load

_SQL = load("ids")
# An end is looked for among so many of the newest: no index knows the ends of ids.
_LOOKED_AT = 20_000


class SqlIds:
    """Implements `ports.ids.IdStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def matching(self, kind: IdKind, part: str, *, limit: int) -> tuple[str, ...]:
        """Return ids of a kind that begin or end with a part, the newest first."""
        rows = await self._engine.reads.rows(_SQL[kind], part, limit, _LOOKED_AT)
        return tuple(str(row[0]) for row in rows)
