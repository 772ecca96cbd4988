"""The audit log as operators read it."""

import msgspec

from hermes.errors import BadRequest
from hermes.ports.audit import AuditRow
from hermes.ports.request_numbers import Instant, WholeNumber
from hermes.ports.store import Store

MOST_ROWS = 10_000


class AuditAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which orders: since when, by whom (as the log names them), and of which name."""

    since: Instant = 0.0
    actor: str = ""
    action: str = ""
    limit: WholeNumber = 100


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """Orders, the newest first."""

    orders: tuple[AuditRow, ...] = ()


class AuditOperations:
    """Where operators ask who ordered what."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self, ask: AuditAsk) -> AuditReport:
        """Return orders."""
        if not 1 <= ask.limit <= MOST_ROWS:
            raise BadRequest(f"{ask.limit} orders: expected a number from 1 to {MOST_ROWS:,}.")
        rows = await self._store.audit.page(
            since=ask.since, actor=ask.actor, action=ask.action, limit=ask.limit
        )
        return AuditReport(orders=rows)
