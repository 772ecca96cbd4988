"""The audit log's rows."""

import msgspec

from hermes.ports.audit import AuditLimits, AuditRow, AuditState
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("audit")
_decode_targets = msgspec.json.Decoder(tuple[str, ...]).decode


class SqlAudit:
    """Implements `ports.audit.AuditStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def begin(self, row: AuditRow, *, limits: AuditLimits) -> None:
        """Record an operator action, and delete entries that are too old or too many."""
        columns = (
            row.id,
            row.at,
            row.actor,
            row.role,
            row.action,
            encode(row.targets).decode(),
            row.state,
            row.code,
            row.ended_at,
        )

        async def unit(tx: Tx) -> None:
            tx.put(_SQL["add"], *columns)
            tx.put(_SQL["forget_old"], row.at - limits.retention_s)
            tx.put(_SQL["forget_many"], limits.most_rows)

        await self._engine.writer.run("begin_audit", unit)

    async def end(
        self, row_id: str, state: AuditState, *, code: str, targets: tuple[str, ...], at: float
    ) -> None:
        """Record its result."""
        named = encode(targets).decode()

        async def unit(tx: Tx) -> None:
            tx.put(_SQL["finish"], row_id, state, code, named, at)

        await self._engine.writer.run("end_audit", unit)

    async def page(
        self, *, since: float, actor: str, action: str, limit: int
    ) -> tuple[AuditRow, ...]:
        """Return operator actions, newest first."""
        rows = await self._engine.reads.rows(_SQL["page"], since, actor, action, limit)
        return tuple(
            AuditRow(
                id=row[0],
                at=row[1],
                actor=row[2],
                role=row[3],
                action=row[4],
                targets=_decode_targets(row[5]),
                state=row[6],
                code=row[7],
                ended_at=row[8],
            )
            for row in rows
        )
