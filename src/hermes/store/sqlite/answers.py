"""Cached answers: encrypted for the person who got them, bounded, deleted with that person."""

from collections.abc import Iterable
from typing import Any

from hermes.errors import PersonErased
from hermes.message.reply import Usage
from hermes.ports.keys import KeptAnswer
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.queries import load

_SQL = load("answers")
_UPKEEP = load("upkeep")
# As many as one unit may drop without delaying the others.
_DROPPED_AT_ONCE = 500


# Any: rows of SQLite's values; each is a digest and a person's id.
def drop_answers(db: Database, rows: Iterable[tuple[Any, ...]]) -> None:
    """Delete answers and their bodies, inside a transaction."""
    for digest, person_id in rows:
        for (body,) in db.rows(_SQL["drop"], (digest, person_id)):
            db.execute(_UPKEEP["drop_body"], (body,))


class SqliteAnswers:
    """Implements `ports.keys.AnswerStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def put(self, answer: KeptAnswer, *, keep: int) -> None:
        """Cache an answer, deleting the oldest beyond `keep`; nothing for an erased person."""

        def unit(db: Database) -> None:
            try:
                body = self._engine.sealer.put(db, answer.person_id, answer.body)
            except PersonErased:
                return
            drop_answers(db, [(answer.digest, answer.person_id)])
            _insert(db, answer, body)
            surplus = int(db.one(_SQL["count"])) - keep
            if surplus > 0:
                drop_answers(db, db.rows(_SQL["oldest"], (min(surplus, _DROPPED_AT_ONCE),)))

        await self._engine.writer.run("put_answer", unit)

    async def get(self, digest: bytes, *, person_id: str, now: float) -> KeptAnswer | None:
        """Return a cached answer of this person that has not expired."""
        reader = self._engine.reader
        row = reader.row(_SQL["get"], (digest, person_id, now))
        body = None if row is None else self._engine.sealer.open(reader, person_id, row[0])
        if row is None or body is None:
            return None
        return KeptAnswer(
            digest=digest,
            person_id=person_id,
            body=body,
            agent=row[1],
            model=row[2],
            call_id=row[3],
            usage=Usage(*row[4:10]),
            stop_reason=row[10],
            at=row[11],
            expires_at=row[12],
        )

    async def forget(self, *, before: float) -> int:
        """Delete answers that expired before then; return how many."""
        expired = (before, _DROPPED_AT_ONCE)

        def unit(db: Database) -> int:
            rows = db.rows(_SQL["expired"], expired)
            drop_answers(db, rows)
            return len(rows)

        dropped = 0
        while self._engine.reader.row(_SQL["expired"], expired) is not None:
            dropped += await self._engine.writer.run("forget_answers", unit)
        return dropped


def _insert(db: Database, answer: KeptAnswer, body: int) -> None:
    usage = answer.usage
    db.execute(
        _SQL["add"],
        (
            answer.digest,
            answer.person_id,
            answer.agent,
            answer.model,
            answer.call_id,
            body,
            usage.tokens_in,
            usage.tokens_out,
            usage.cached_in,
            usage.reasoning_out,
            usage.cost_usd,
            usage.unpriced,
            answer.stop_reason,
            answer.at,
            answer.expires_at,
        ),
    )
