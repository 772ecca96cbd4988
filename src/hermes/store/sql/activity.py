"""Counts of turns over time, and the turns that run."""

from typing import Any, Final

from hermes.message.outcome import MessageState, Outcome
from hermes.ports.activity import NOT_TIMED, RunningTurn, TurnCount, slowness_of
from hermes.ports.turns import Commit, Interaction
from hermes.store.sql.engine import Engine
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("activity")
_SHORT_S: Final = 300
_HOUR_S: Final = 3_600
_DAY_S: Final = 86_400
# Spans of a length become longer ones at some age: an hour is drawn in steps of five minutes, a day in
# hours, a month in days, so that each reads few rows.
_JOINED: Final = ((_SHORT_S, _HOUR_S, 2 * _HOUR_S), (_HOUR_S, _DAY_S, 2 * _DAY_S))
_KEPT_S: Final = 100 * _DAY_S


def count_turn(tx: Tx, commit: Commit, row: Interaction) -> None:
    """Add the end of a turn to the counts, in its transaction."""
    has_answered = row.llm_backend is not None and row.took_s is not None
    tx.put(
        _SQL["count"],
        _SHORT_S,
        int(commit.at) // _SHORT_S * _SHORT_S,
        commit.outcome.value,
        slowness_of(row.took_s or 0.0) if has_answered else NOT_TIMED,
        1 + len(commit.merged),
        row.usage.tokens_in + row.usage.tokens_out,
        row.usage.cost_usd,
        row.usage.unpriced,
    )


class SqlActivity:
    """Implements `ports.activity.ActivityStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def counts(self, since: int, *, span_s: int) -> tuple[TurnCount, ...]:
        """Return the turns that ended since then in spans of time, the oldest first."""
        return tuple(map(_count, await self._engine.reads.rows(_SQL["counts"], since, span_s)))

    async def running(self, *, limit: int) -> tuple[RunningTurn, ...]:
        """Return turns that run or wait for a person, the oldest first."""
        reads = self._engine.reads
        rows = await reads.rows(_SQL["running"], limit)
        return tuple([_running(row, await reads.row(_SQL["last_step"], row[0])) for row in rows])

    async def tidy(self, now: float) -> None:
        """Join spans that are old enough to longer ones, and forget those whose time is over."""
        reads = self._engine.reads
        due = [(span, int(now - age) // longer * longer, longer) for span, longer, age in _JOINED]
        old = (_DAY_S, int(now) - _KEPT_S)
        spans = (*(one[:2] for one in due), old)
        if not any([await reads.row(_SQL["has_before"], *one) for one in spans]):
            return

        async def unit(tx: Tx) -> None:
            for span, before, longer in due:
                tx.put(_SQL["join_spans"], span, before, longer)
                tx.put(_SQL["drop_before"], span, before)
            tx.put(_SQL["drop_before"], *old)

        await self._engine.writer.run("tidy_counts", unit)


# Any: values of the database, in the order of the columns that the queries name.
def _count(row: tuple[Any, ...]) -> TurnCount:
    return TurnCount(
        at=row[0],
        outcome=Outcome(row[1]),
        slowness=row[2],
        turns=row[3],
        messages=row[4],
        tokens=row[5],
        cost_usd=row[6],
        unpriced=row[7],
    )


def _running(row: tuple[Any, ...], step: tuple[Any, ...] | None) -> RunningTurn:
    kind, step_state, name, step_at = step or (None, None, "", None)
    return RunningTurn(
        id=row[0],
        state=MessageState(row[1]),
        lane=row[2],
        person_id=row[3],
        platform=row[4],
        received_at=row[5],
        started_at=row[6],
        attempts=row[7],
        steps=row[8],
        tokens_in=row[9],
        tokens_out=row[10],
        cost_usd=None if row[12] else row[11],
        kind=kind,
        step=name,
        step_state=step_state,
        step_at=step_at,
    )
