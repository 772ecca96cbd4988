"""The in-memory twin of the audit log; fits `ports.audit.AuditStore`."""

import msgspec

from hermes.ports.audit import AuditLimits, AuditRow, AuditState


class MemoryAudit:
    """Stores orders in a list."""

    def __init__(self) -> None:
        self.rows: list[AuditRow] = []

    async def begin(self, row: AuditRow, *, limits: AuditLimits) -> None:
        """Add an order, and drop orders that are too old or too many."""
        kept = [one for one in self.rows if one.at >= row.at - limits.retention_s]
        self.rows = [*kept, row][-limits.most_rows :]

    async def end(
        self, row_id: str, state: AuditState, *, code: str, targets: tuple[str, ...], at: float
    ) -> None:
        """Record the result of an order."""
        self.rows = [
            msgspec.structs.replace(row, state=state, code=code, targets=targets, ended_at=at)
            if row.id == row_id and row.state == "started"
            else row
            for row in self.rows
        ]

    async def page(
        self, *, since: float, actor: str, action: str, limit: int
    ) -> tuple[AuditRow, ...]:
        """Return orders, newest first."""
        found = [
            row
            for row in reversed(self.rows)
            if row.at >= since and actor in ("", row.actor) and action in ("", row.action)
        ]
        return tuple(found[:limit])
