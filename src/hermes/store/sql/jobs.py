"""Work after the reply: a commit writes the job, one transaction ends it with its results."""

from collections.abc import Sequence
from functools import partial
from itertools import takewhile

import msgspec

from hermes.graph.growth import read_tip
from hermes.graph.reader import ObjectReader
from hermes.graph.records import Move
from hermes.graph.rewind import spans
from hermes.message.chat import ChatMessage
from hermes.message.continuations import answer_text
from hermes.message.session_key import graph_name, is_direct
from hermes.ports.memory import Decide, FactChange, Job, Lessons, NewJob, ReadExchange
from hermes.ports.spend import SpendEntry
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.facts import SqlFacts
from hermes.store.sql.graph_storage import SqlGraphStorage
from hermes.store.sql.queries import load
from hermes.store.sql.spend import add_spent
from hermes.store.sql.tx import Rows, Tx

_SQL = load("memory")
_MAIN = "main"
_decode = msgspec.json.Decoder(ChatMessage).decode


class SqlJobs:
    """Implements `ports.memory.JobStore`."""

    def __init__(self, engine: Engine, *, facts: SqlFacts) -> None:
        self._engine = engine
        self._facts = facts

    async def due(
        self, now: float, *, limit: int, kinds: Sequence[str] | None = None
    ) -> tuple[Job, ...]:
        """Return due jobs, the longest due first; with `kinds` only those kinds."""
        wanted = None if kinds is None else encode(kinds).decode()
        return tuple(
            Job(
                key=row[0],
                kind=row[1],
                lane=row[2],
                epoch=row[3],
                person_id=row[4],
                attempts=row[5],
                touched=row[6],
                covered=row[7],
                latest_at=row[8],
            )
            for row in await self._engine.reads.rows(_SQL["due_jobs"], now, limit, wanted)
        )

    async def next_due_at(self) -> float | None:
        """Return when the next job becomes due."""
        due_at: float | None = await self._engine.reads.one(_SQL["next_job"])
        return due_at

    async def lessons(self, job: Job, *, limit: int) -> Lessons:
        """Return what the person of a job said since it was last done."""
        return await self._engine.reads.look(lambda db: self._lessons(db, job, limit=limit))

    def _lessons(self, db: Rows, job: Job, *, limit: int) -> Lessons:
        sealer, name = self._engine.sealer, graph_name(job.lane, job.epoch)
        storage = SqlGraphStorage(db, name, sealer=sealer)
        ref = storage.ref(_MAIN)
        if ref is None:
            return Lessons((), job.covered)
        tip = read_tip(name, _MAIN, ref=ref, reader=ObjectReader(storage, sealer.hasher()))
        # A turn may be committed between two reads: what is newer than the tip is left for the next job.
        last = storage.last_moves(_MAIN, limit)
        newest = [move for move in last if job.covered <= move.number <= tip.version]
        new = {move.number for move in newest}
        found = spans(partial(storage.log, _MAIN), tip.version, length=len(tip))
        heard = list[ReadExchange]()
        # A message that was removed before it was learnt from is not learnt.
        for span in takewhile(lambda span: span.move.number in new, found):
            if span.move.edit.actor != job.person_id:
                continue
            names = [blob.id for blob in tip.sequence.names(span.start, span.stop)]
            opened, _ = storage.open_blobs(names)
            said = [_decode(opened[one]) for one in names if one in opened]
            heard[:0] = _heard(span.move, said if is_direct(job.lane) else said[:1])
        return Lessons(tuple(heard), newest[0].number + 1 if newest else job.covered)

    async def finish(
        self, job: Job, decide: Decide, *, covered: int, spent: Sequence[SpendEntry]
    ) -> FactChange:
        """End a job with what it learnt and cost; it stays due if the session continued."""

        async def unit(tx: Tx) -> FactChange:
            add_spent(tx, spent)
            key = (job.key, job.touched, covered, job.covered)
            if await tx.changed(_SQL["finish_job"], *key) != 1:
                # Erased meanwhile, or done by a process that was considered dead.
                return FactChange()
            return await self._facts.write(tx, job.person_id, decide)

        after = self._engine.feed.telling("facts", job.person_id)
        return await self._engine.writer.run("finish_job", unit, after=after)

    async def put_off(
        self,
        job: Job,
        *,
        due_at: float | None,
        reason: str,
        spent: Sequence[SpendEntry],
        counts: bool = True,
    ) -> None:
        """Delay a failed job; without a time it is parked until the session continues.

        `counts` uses up one of its attempts.
        """

        async def unit(tx: Tx) -> None:
            add_spent(tx, spent)
            tx.put(_SQL["put_off_job"], job.key, job.touched, due_at, reason, int(counts))

        await self._engine.writer.run("put_off_job", unit)

    async def parked(self) -> int:
        """Return how many jobs are parked."""
        return int(await self._engine.reads.one(_SQL["parked_jobs"]))


def _heard(move: Move, said: list[ChatMessage]) -> list[ReadExchange]:
    text = "\n".join(one.text for one in said if one.role == "user" and one.text)
    if not text:
        return []
    answer = answer_text([one for one in said if one.role != "assistant" or one.text])
    return [ReadExchange(message_id=move.edit.reason, text=text, answer=answer, at=move.at or 0.0)]


def put_job(tx: Tx, job: NewJob) -> None:
    """Write a job, inside the commit of the turn that creates it."""
    tx.put(
        _SQL["put_patient_job" if job.is_patient else "put_job"],
        job.key,
        job.kind,
        job.lane,
        job.epoch,
        job.person_id,
        job.due_at,
        job.latest_at,
    )
