"""Ends sessions outside a turn, so that the lane continues with a new conversation; takes back its end."""

from hermes.message.outcome import Outcome
from hermes.message.reply import Usage
from hermes.message.rewind import Rewind
from hermes.message.session_key import graph_name
from hermes.ports.memory import EXTRACT
from hermes.ports.sessions import EndReason, SessionUndo, SessionUsage, UnusedSession
from hermes.ports.turns import Commit, TurnResult
from hermes.store.sql.engine import Engine
from hermes.store.sql.queries import load
from hermes.store.sql.transcripts import GraphWrite, SqlTranscripts
from hermes.store.sql.tx import Tx

_SQL = load("sessions")


class SqlSessions:
    """Implements `ports.sessions.SessionStore`."""

    def __init__(self, engine: Engine, *, transcripts: SqlTranscripts) -> None:
        self._engine = engine
        self._transcripts = transcripts
        # The table never grows while a gateway runs: in most homes it is empty.
        self._has_old: bool | None = None

    async def old_writers(self, lane: str) -> frozenset[str]:
        """Return who wrote in a session from before conversation names belonged to senders."""
        if self._has_old is None:
            self._has_old = await self._engine.reads.row(_SQL["any_old_writers"]) is not None
        if not self._has_old:
            return frozenset()
        return frozenset(row[0] for row in await self._engine.reads.rows(_SQL["old_writers"], lane))

    async def unused(
        self, platform: str, *, since: float, before: float, limit: int
    ) -> tuple[UnusedSession, ...]:
        """Return a platform's sessions last used within a period, oldest first."""
        rows = await self._engine.reads.rows(_SQL["unused"], platform, since, before, limit)
        return tuple(UnusedSession(*row) for row in rows)

    async def end(
        self, lane: str, *, epoch: int, reason: EndReason, at: float, but: str = ""
    ) -> bool:
        """End a session once; learning from it becomes due at once, if enabled."""

        async def unit(tx: Tx) -> bool:
            row = await tx.row(_SQL["end"], lane, epoch, at, reason, but)
            if row is None:
                return False
            tx.put(_SQL["move_waiting"], lane, row[0])
            jobs = f"{EXTRACT}:{graph_name(lane, epoch)}"
            tx.put(_SQL["learn_now"], f"{jobs}:", f"{jobs};", at)
            return True

        def after(_ended: bool) -> None:
            self._engine.fresh.clear()

        return await self._engine.writer.run("end_session", unit, after=after)

    async def undo(self, undo: SessionUndo) -> bool:
        """Take messages out of a session outside a turn."""
        change = Commit(
            message_id="sessions.undo",
            person_id=undo.actor,
            outcome=Outcome.ANSWERED,
            result=TurnResult(text=""),
            at=undo.at,
            epoch=undo.epoch,
            rewind=Rewind(cut=undo.cut),
        )

        async def unit(tx: Tx) -> GraphWrite | None:
            row = await tx.row(_SQL["undo"], undo.lane, undo.epoch, undo.head)
            if row is None:
                return None
            return await self._transcripts.rewind(tx, undo.lane, change, head=int(row[0]))

        def after(written: GraphWrite | None) -> None:
            if written is not None:
                self._transcripts.extend(undo.lane, change, written)
            self._engine.fresh.clear()

        return await self._engine.writer.run("undo", unit, after=after) is not None

    async def usage(self, lane: str) -> SessionUsage:
        """Return what the session of a lane has used since it began."""
        row = await self._engine.reads.row(_SQL["usage"], lane)
        if row is None:
            return SessionUsage()
        turns, tokens_in, tokens_out, cached_in, cache_written, cost_usd, unpriced = row
        usage = Usage(
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cached_in=cached_in,
            cache_written=cache_written,
            cost_usd=cost_usd,
            unpriced=unpriced,
        )
        return SessionUsage(turns=turns, usage=usage)
