"""Dreams: encrypted, one per person, written in the transaction that ends their job."""

from collections.abc import Sequence

import msgspec

from hermes.ports.dreams import DREAM, Dream, RecentMessages, dream_key
from hermes.ports.memory import Job, SaidBefore
from hermes.ports.spend import SpendEntry
from hermes.store.sql.engine import Engine, decode_event, encode
from hermes.store.sql.places import DREAM_PLACE, event_place
from hermes.store.sql.queries import load
from hermes.store.sql.spend import add_spent
from hermes.store.sql.tx import Tx

_SQL = load("dreams")
_MEMORY = load("memory")
_decode = msgspec.json.Decoder(Dream).decode


class SqlDreams:
    """Implements `ports.dreams.DreamStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # None until it was read.
        self._any: bool | None = None
        engine.feed.on("dreams", lambda _key: self._forget())

    async def of(self, person_id: str) -> Dream | None:
        """Return the last dream of a person; answered from memory while there are none."""
        reads = self._engine.reads
        if self._any is None:
            stamp = self._engine.feed.stamp
            found = await reads.row(_SQL["any"]) is not None
            self._any = found if stamp == self._engine.feed.stamp else None
        if self._any is False:
            return None
        row = await reads.row(_SQL["get"], person_id)
        if row is None:
            return None
        content = await self._engine.sealer.open(reads, person_id, row[0], place=DREAM_PLACE)
        return None if content is None else _decode(content)

    async def last_begun_at(self) -> float | None:
        """Return when the last dream of anyone began."""
        at: float | None = await self._engine.reads.one(_SQL["last_begun"])
        return at

    async def next_person(self, *, before: float, after: str, limit: int) -> tuple[str | None, str]:
        """Return the next person who is due, if any, and where to continue."""
        rows = await self._engine.reads.rows(_SQL["page"], before, after, limit)
        for person_id, is_time in rows:
            if is_time:
                return person_id, person_id
        return None, rows[-1][0] if len(rows) == limit else ""

    async def begin(self, person_id: str, *, at: float) -> Job:
        """Write the job of a person's dream, due at once; a waiting one is restarted."""
        key = dream_key(person_id)

        async def unit(tx: Tx) -> Job:
            row = await tx.row(_SQL["begin"], key, person_id, at)
            assert row is not None
            return Job(
                kind=DREAM,
                key=key,
                lane="",
                epoch=0,
                person_id=person_id,
                attempts=row[0],
                touched=row[1],
                covered=row[2],
                latest_at=at,
            )

        return await self._engine.writer.run("begin_dream", unit)

    async def lately_said(self, job: Job, *, limit: int) -> RecentMessages:
        """Return what the person wrote since the last dream, without what programs wrote."""
        reads, sealer = self._engine.reads, self._engine.sealer
        rows = await reads.rows(_SQL["said"], job.person_id, job.covered, limit)
        said = []
        for _, message_id, body, at in reversed(rows):
            content = await sealer.get(
                reads, body, owner=job.person_id, place=event_place(message_id)
            )
            event = None if content is None else decode_event(content)
            if event is None or event.internal or event.key is not None or event.history:
                continue
            if event.text:
                said.append(SaidBefore(event.text, at))
        return RecentMessages(tuple(said), rows[0][0] if rows else job.covered)

    async def finish(
        self,
        job: Job,
        dream: Dream | None,
        *,
        covered: int,
        seen: Sequence[str],
        spent: Sequence[SpendEntry],
    ) -> bool:
        """End a job with its dream and cost, unless its facts were deleted meanwhile."""
        person_id = job.person_id

        async def unit(tx: Tx) -> bool:
            add_spent(tx, spent)
            for name in seen:
                if await tx.row(_SQL["is_known"], name, person_id) is None:
                    return False
            key = (job.key, job.touched, covered, job.covered)
            is_ended = await tx.changed(_MEMORY["finish_job"], *key) == 1
            # Without a row it was erased meanwhile, or done by a process that was considered dead.
            if is_ended and dream is not None:
                sealed = await self._engine.sealer.seal(
                    tx, person_id, encode(dream), place=DREAM_PLACE
                )
                tx.put(_SQL["put"], person_id, dream.at, sealed)
                self._engine.feed.put(tx, "dreams", person_id)
            return True

        after = self._engine.feed.telling("dreams", person_id)
        return await self._engine.writer.run("finish_dream", unit, after=after)

    def _forget(self) -> None:
        self._any = None
