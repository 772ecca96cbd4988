"""Dreams: encrypted, one per person, written in the transaction that ends their job."""

from collections.abc import Sequence

import msgspec

from hermes.ports.dreams import DREAM, Dream, RecentMessages, dream_key
from hermes.ports.memory import Job, SaidBefore
from hermes.ports.spend import SpendEntry
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.engine import Engine, decode_event, encode
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.spend import add_spent

_SQL = load("dreams")
_MEMORY = load("memory")
_decode = msgspec.json.Decoder(Dream).decode


class SqliteDreams:
    """Implements `ports.dreams.DreamStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._any = engine.reader.row(_SQL["any"]) is not None

    async def of(self, person_id: str) -> Dream | None:
        """Return the last dream of a person; answered from memory while there are none."""
        if not self._any:
            return None
        reader = self._engine.reader
        row = reader.row(_SQL["get"], (person_id,))
        content = None if row is None else self._engine.sealer.open(reader, person_id, row[0])
        return None if content is None else _decode(content)

    async def last_begun_at(self) -> float | None:
        """Return when the last dream of anyone began."""
        at: float | None = self._engine.reader.one(_SQL["last_begun"])
        return at

    async def next_person(self, *, before: float, after: str, limit: int) -> tuple[str | None, str]:
        """Return the next person who is due, if any, and where to continue."""
        rows = self._engine.reader.rows(_SQL["page"], (before, after, limit))
        for person_id, is_time in rows:
            if is_time:
                return person_id, person_id
        return None, rows[-1][0] if len(rows) == limit else ""

    async def begin(self, person_id: str, *, at: float) -> Job:
        """Write the job of a person's dream, due at once; a waiting one is restarted."""
        key = dream_key(person_id)

        def unit(db: Database) -> Job:
            row = db.row(_SQL["begin"], (key, person_id, at))
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
            )

        return await self._engine.writer.run("begin_dream", unit)

    async def lately_said(self, job: Job, *, limit: int) -> RecentMessages:
        """Return what the person wrote since the last dream, without what programs wrote."""
        reader, sealer = self._engine.reader, self._engine.sealer
        rows = reader.rows(_SQL["said"], (job.person_id, job.covered, limit))
        said = []
        for _, body, at in reversed(rows):
            content = sealer.get(reader, body)
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

        def unit(db: Database) -> bool:
            add_spent(db, spent)
            if any(db.row(_SQL["is_known"], (name, person_id)) is None for name in seen):
                return False
            db.execute(_MEMORY["finish_job"], (job.key, job.touched, covered, job.covered))
            # Without a row it was erased meanwhile, or done by a process that was considered dead.
            if db.changes() == 1 and dream is not None:
                sealed = self._engine.sealer.seal(db, person_id, encode(dream))
                db.execute(_SQL["put"], (person_id, dream.at, sealed))
            return True

        def after(_: bool) -> None:
            self._any = True

        return await self._engine.writer.run("finish_dream", unit, after=after)
