"""Cached answers: encrypted for the person who got them, bounded, deleted with that person."""

from collections.abc import Iterable
from typing import Any

from hermes.errors import PersonErased
from hermes.message.reply import Usage
from hermes.ports.keys import KeptAnswer
from hermes.store.sql.engine import Engine
from hermes.store.sql.places import blob_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("answers")
_UPKEEP = load("upkeep")
# As many as one unit may drop without delaying the others.
_DROPPED_AT_ONCE = 500
_SPARE_PART = 100


# Any: rows of SQLite's values; each is a digest and a person's id.
async def drop_answers(tx: Tx, rows: Iterable[tuple[Any, ...]]) -> None:
    """Delete answers and their bodies, inside a transaction."""
    for digest, person_id in rows:
        for (body,) in await tx.rows(_SQL["drop"], digest, person_id):
            tx.put(_UPKEEP["drop_body"], body)


async def _drop_over_share(tx: Tx, person_id: str, *, each: int, most: int) -> int:
    """Delete the oldest answers of somebody who has more than `each`; return how many."""
    own = int(await tx.one(_SQL["count_of"], person_id))
    if own <= each:
        ((person_id, own),) = await tx.rows(_SQL["fullest"])
    over = min(max(0, own - each), most)
    if over:
        await drop_answers(tx, await tx.rows(_SQL["oldest_of"], person_id, over))
    return over


class SqlAnswers:
    """Implements `ports.keys.AnswerStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def put(self, answer: KeptAnswer, *, keep: int, each: int) -> None:
        """Cache an answer, deleting old ones beyond `keep`; nothing for an erased person.

        Of a person with more than `each` the oldest go first: the answer's own person, or whoever
        has the most.
        """

        async def unit(tx: Tx) -> None:
            try:
                body = await self._engine.sealer.put(tx, answer.person_id, answer.body)
            except PersonErased:
                return
            await drop_answers(tx, [(answer.digest, answer.person_id)])
            _insert(tx, answer, body)
            surplus = int(await tx.one(_SQL["count"])) - keep
            if surplus > 0:
                # A few more, so that nobody has to count for a while.
                most = min(surplus + keep // _SPARE_PART, _DROPPED_AT_ONCE)
                dropped = await _drop_over_share(tx, answer.person_id, each=each, most=most)
                if dropped < surplus:
                    left = (surplus if dropped else most) - dropped
                    await drop_answers(tx, await tx.rows(_SQL["oldest"], left))

        await self._engine.writer.run("put_answer", unit)

    async def get(self, digest: bytes, *, person_id: str, now: float) -> KeptAnswer | None:
        """Return a cached answer of this person that has not expired."""
        reads = self._engine.reads
        row = await reads.row(_SQL["get"], digest, person_id, now)
        if row is None:
            return None
        place = blob_place(row[13])
        body = await self._engine.sealer.open(reads, person_id, row[0], place=place)
        if body is None:
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

        async def unit(tx: Tx) -> int:
            rows = await tx.rows(_SQL["expired"], *expired)
            await drop_answers(tx, rows)
            return len(rows)

        dropped = 0
        while await self._engine.reads.row(_SQL["expired"], *expired) is not None:
            dropped += await self._engine.writer.run("forget_answers", unit)
        return dropped


def _insert(tx: Tx, answer: KeptAnswer, body: int) -> None:
    usage = answer.usage
    tx.put(
        _SQL["add"],
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
    )
