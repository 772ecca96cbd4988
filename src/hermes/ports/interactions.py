"""The provenance of turns, as operators read it: one row for each."""

from typing import Protocol

import msgspec


class InteractionRow(msgspec.Struct, frozen=True, kw_only=True):
    """What one turn took, and who answered it; a `cost_usd` of None is unknown, which is not free."""

    message_id: str
    at: float
    person_id: str
    agent: str
    platform: str
    llm_backend: str | None
    llm_cache_hit: bool
    soul_load_ms: float
    semantic_recall_used: bool
    tools: tuple[str, ...]
    tool_exec_ms: float
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


class InteractionStore(Protocol):
    """Reads interactions."""

    async def page(self, before: str | None, *, limit: int) -> tuple[InteractionRow, ...]:
        """Return the interactions of messages older than one, or the last ones, the newest first."""
        ...
