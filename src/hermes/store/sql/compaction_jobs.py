"""The jobs that sum conversations up: what they read, and the transaction that ends them."""

from collections.abc import Callable, Sequence

from hermes.errors import Conflict
from hermes.graph.rewind import ChangeAuthor
from hermes.ports.compaction import LongConversation, OlderPart
from hermes.ports.memory import Job
from hermes.ports.spend import SpendEntry
from hermes.ports.transcripts import Compaction
from hermes.store.sql.engine import Engine
from hermes.store.sql.queries import load
from hermes.store.sql.souls import SqlSouls
from hermes.store.sql.spend import add_spent
from hermes.store.sql.transcripts import SqlTranscripts
from hermes.store.sql.tx import Tx

_SQL = load("compactions")


class SqlCompactions:
    """Implements `ports.compaction.CompactionStore`."""

    def __init__(self, engine: Engine, *, transcripts: SqlTranscripts, souls: SqlSouls) -> None:
        self._engine = engine
        self._transcripts = transcripts
        self._souls = souls

    async def older(
        self, job: Job, cut: Callable[[LongConversation], int], *, limit: int
    ) -> OlderPart | None:
        """Return the part of a job's conversation that `cut` says is older, if there is one."""
        soul = await self._souls.get(job.lane, job.epoch)
        shared_from = 0 if soul is None else soul.shared_from or 0
        return await self._transcripts.older(job, cut, shared_from=shared_from, limit=limit)

    async def finish(
        self,
        job: Job,
        made: Compaction | None,
        *,
        source: bytes,
        at: float,
        spent: Sequence[SpendEntry],
    ) -> bool:
        """End a job with what it made and cost; return whether the conversation was still the same."""

        async def unit(tx: Tx) -> bool:
            add_spent(tx, spent)
            if await tx.changed(_SQL["end_job"], job.key) != 1:
                # Erased meanwhile, or done by a process that was considered dead.
                return False
            if made is None:
                return True
            who = ChangeAuthor(job.person_id, f"compacted by {made.by}", at)
            try:
                await self._transcripts.compact(
                    tx, job.lane, job.epoch, made=made, who=who, source=source
                )
            except Conflict:
                return False
            return True

        drop = self._transcripts.drop
        return await self._engine.writer.run(
            "finish_compaction", unit, after=lambda _done: drop(job.lane)
        )
