"""The audit log: who ordered what of the gateway, about whom, and its result."""

from typing import Literal, Protocol

import msgspec

from hermes.ports.access import Role

# `started` and nothing after it: the process died, or whoever asked hung up, in the middle.
AuditState = Literal["started", "ok", "refused", "failed"]


class AuditRow(msgspec.Struct, frozen=True, kw_only=True):
    """One order; `targets` are ids, never words, and `code` is that of the error it ended with."""

    id: str
    at: float
    actor: str
    role: Role
    action: str
    targets: tuple[str, ...] = ()
    state: AuditState = "started"
    code: str = ""
    ended_at: float | None = None


class AuditLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is kept."""

    retention_s: float = 365 * 86_400.0
    most_rows: int = 100_000


class AuditStore(Protocol):
    """Rows are begun before an order is carried out and ended after it."""

    async def begin(self, row: AuditRow, *, limits: AuditLimits) -> None:
        """Keep an order, and forget what is too old or too much."""
        ...

    async def end(
        self, row_id: str, state: AuditState, *, code: str, targets: tuple[str, ...], at: float
    ) -> None:
        """Record the result of an order."""
        ...

    async def page(
        self, *, since: float, actor: str, action: str, limit: int
    ) -> tuple[AuditRow, ...]:
        """Return orders, the newest first; an empty actor or action means any."""
        ...
