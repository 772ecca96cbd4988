"""What operators see and change outside turns: sessions, paused platforms, models, dead letters."""

from itertools import chain
from typing import Any

import msgspec

from hermes.ports.operations import LastTraffic, ModelSwap, OpenSession, PausedPlatform
from hermes.ports.outbox import DeliveryNote, DeliveryRecord
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.outbox import SqlOutbox
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("operating")
_decode_swap = msgspec.json.Decoder(ModelSwap).decode


class SqlPauses:
    """Implements `ports.operations.PausedStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all(self) -> tuple[PausedPlatform, ...]:
        """Return the paused platforms."""
        rows = await self._engine.reads.rows(_SQL["paused"])
        return tuple(PausedPlatform(platform=row[0], at=row[1]) for row in rows)

    async def pause(self, platform: str, *, at: float) -> bool:
        """Pause a platform; False if it is paused already."""

        async def unit(tx: Tx) -> bool:
            self._engine.feed.put(tx, "pauses", platform)
            return await tx.changed(_SQL["pause"], platform, at) == 1

        after = self._engine.feed.telling("pauses", platform)
        return await self._engine.writer.run("pause_channel", unit, after=after)

    async def resume(self, platform: str, *, at: float) -> bool:
        """End the pause; the paused time does not count towards the age of its replies."""

        async def unit(tx: Tx) -> bool:
            row = await tx.row(_SQL["resume"], platform)
            if row is None:
                return False
            tx.put(_SQL["spare"], platform, row[0], at)
            self._engine.feed.put(tx, "pauses", platform)
            return True

        after = self._engine.feed.telling("pauses", platform)
        return await self._engine.writer.run("resume_channel", unit, after=after)

    async def last_traffic(self, platform: str) -> LastTraffic:
        """Return when a platform last received and sent something, if recorded."""
        reads = self._engine.reads
        return LastTraffic(
            came=await reads.one(_SQL["last_in"], platform),
            went=await reads.one(_SQL["last_out"], platform),
        )


class SqlModelSwap:
    """Implements `ports.operations.ModelSwapStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def get(self) -> ModelSwap | None:
        """Return the choice, or None if nobody made one."""
        row = await self._engine.reads.row(_SQL["swap"])
        return None if row is None else _decode_swap(row[0])

    async def set(self, swap: ModelSwap | None) -> None:
        """Store a choice in place of the one before; None deletes it."""

        async def unit(tx: Tx) -> None:
            if swap is None:
                tx.put(_SQL["drop_swap"])
            else:
                tx.put(_SQL["set_swap"], encode(swap))
            self._engine.feed.put(tx, "swap")

        await self._engine.writer.run("swap_model", unit, after=self._engine.feed.telling("swap"))


class SqlDeadLetters:
    """Implements `ports.operations.DeadLetterStore`."""

    def __init__(self, engine: Engine, *, outbox: SqlOutbox) -> None:
        self._engine = engine
        self._outbox = outbox

    async def page(self, *, platform: str, limit: int) -> tuple[DeliveryRecord, ...]:
        """Return dead letters, newest first."""
        rows = await self._engine.reads.rows(_SQL["dead_letters"], platform, limit)
        return tuple([await self._outbox.record(self._engine.reads, row) for row in rows])

    async def get(self, delivery_id: str) -> DeliveryRecord | None:
        """Return one dead letter."""
        row = await self._engine.reads.row(_SQL["dead_letter"], delivery_id)
        return None if row is None else await self._outbox.record(self._engine.reads, row)

    async def replay(self, delivery_id: str, *, at: float) -> bool:
        """Send one again, as if it were new; False if it cannot be."""
        return await self._change("replay", delivery_id, at)

    async def drop(self, delivery_id: str, *, at: float) -> bool:
        """Drop one; False if there is none."""
        return await self._change("drop", delivery_id, at)

    async def lapse(self, before: float, *, at: float, limit: int) -> int:
        """Drop those from before then, at most `limit`; return how many."""
        if await self._engine.reads.row(_SQL["old_letters"], before, 1) is None:
            return 0

        async def unit(tx: Tx) -> int:
            rows = await tx.rows(_SQL["old_letters"], before, limit)
            for (delivery_id,) in rows:
                tx.put(_SQL["drop"], delivery_id, at)
                note = DeliveryNote(at=at, then="lapsed", tried=False)
                await self._outbox.stories.tell(tx, delivery_id, note)
            return len(rows)

        return await self._engine.writer.run("letters_lapse", unit)

    async def _change(self, name: str, delivery_id: str, at: float) -> bool:
        async def unit(tx: Tx) -> bool:
            if await tx.changed(_SQL[name], delivery_id, at) != 1:
                return False
            note = DeliveryNote(at=at, then=name, tried=False)
            await self._outbox.stories.tell(tx, delivery_id, note)
            return True

        return await self._engine.writer.run(f"delivery_{name}", unit)


class SqlOpenSessions:
    """Implements `ports.operations.OpenSessionStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def page(self, *, platform: str, limit: int) -> tuple[OpenSession, ...]:
        """Return sessions, most recently used first."""
        reads = self._engine.reads
        every = [(platform,)] if platform else await reads.rows(_SQL["session_platforms"])
        # Each is in the order of its index: nothing has to be sorted but what is shown.
        found = [await reads.rows(_SQL["sessions"], name, limit) for (name,) in every]
        newest = sorted(map(_session, chain(*found)), key=lambda one: -one.used_at)
        return tuple(newest[:limit])

    async def of_person(self, person_id: str, *, limit: int) -> tuple[OpenSession, ...]:
        """Return the sessions of a person, most recently used first."""
        rows = await self._engine.reads.rows(_SQL["sessions_of_person"], person_id, limit)
        return tuple(map(_session, rows))

    async def get(self, key: str) -> OpenSession | None:
        """Return the session of a key."""
        row = await self._engine.reads.row(_SQL["session"], key)
        return None if row is None else _session(row)


# Any: SQLite's values, in the order of the columns that the queries name.
def _session(row: tuple[Any, ...]) -> OpenSession:
    return OpenSession(
        key=row[0],
        epoch=row[1],
        platform=row[2],
        person_id=row[3],
        messages=row[4],
        used_at=row[5],
        is_busy=bool(row[6]),
    )
