"""Facts about people: encrypted, recently used ones cached, changed only here and by erasure."""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from hermes.ports.memory import Decide, Fact, FactChange, KnownPerson
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.places import fact_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Reads, Tx
from hermes.store.sql.vectors import erase_vectors, follow_change, has_any

_SQL = load("memory")
# No more are read: the policy above this forgets the oldest earlier.
_MOST = 10_000
_PEOPLE_KEPT = 500
_FACTS_KEPT = 50_000
_decode = msgspec.json.Decoder(Fact).decode


class RecentFacts:
    """The facts of people who wrote recently, including people without any facts."""

    def __init__(self, people: int = _PEOPLE_KEPT, facts: int = _FACTS_KEPT) -> None:
        self._known: OrderedDict[str, tuple[Fact, ...]] = OrderedDict()
        self._people = people
        self._facts = facts
        self._count = 0

    def get(self, person_id: str) -> tuple[Fact, ...] | None:
        """Return the facts of a person, if they were read."""
        known = self._known.get(person_id)
        if known:
            self._known.move_to_end(person_id)
        return known

    def put(self, person_id: str, facts: tuple[Fact, ...]) -> None:
        """Cache what was read; the least recently used is dropped."""
        self.drop(person_id)
        self._known[person_id] = facts
        self._count += len(facts)
        while len(self._known) > self._people or (self._count > self._facts and self._known):
            self.drop(next(iter(self._known)))

    def drop(self, person_id: str) -> None:
        """Drop the cached facts of one person."""
        self._count -= len(self._known.pop(person_id, ()))


class SqlFacts:
    """Implements `ports.memory.FactStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._recent = RecentFacts()
        for kind in ("facts", "erasure"):
            engine.feed.on(kind, self._recent.drop)

    async def people(self, *, limit: int) -> tuple[KnownPerson, ...]:
        """Return the people about whom something is known, those of the newest facts first."""
        rows = await self._engine.reads.rows(_SQL["people"], limit)
        return tuple(KnownPerson(person_id=row[0], facts=row[1], at=row[2]) for row in rows)

    async def of(self, person_id: str) -> tuple[Fact, ...]:
        """Return the facts of a person, oldest first; answered from memory."""
        known = self._recent.get(person_id)
        if known is None:
            stamp = self._engine.feed.stamp
            known = await read_facts(self._engine, self._engine.reads, person_id)
            if stamp == self._engine.feed.stamp:
                self._recent.put(person_id, known)
        return known

    async def change(self, person_id: str, decide: Decide) -> FactChange:
        """Change a person's facts in one transaction; return what was changed."""

        async def unit(tx: Tx) -> FactChange:
            return await self.write(tx, person_id, decide)

        after = self._engine.feed.telling("facts", person_id)
        return await self._engine.writer.run("change_facts", unit, after=after)

    async def write(self, tx: Tx, person_id: str, decide: Decide) -> FactChange:
        """Change a person's facts inside a transaction."""
        facts = await read_facts(self._engine, tx, person_id)
        change = decide(facts)
        if change.forget or change.forget_dream:
            tx.put(_SQL["forget_dream"], person_id)
        for fact_id in change.forget:
            tx.put(_SQL["forget_fact"], fact_id, person_id)
        for fact in change.put:
            sealed = await self._engine.sealer.seal(
                tx, person_id, encode(fact), place=fact_place(fact.id)
            )
            tx.put(_SQL["put_fact"], fact.id, person_id, fact.at, sealed)
        self._engine.feed.put(tx, "facts", person_id)
        current = {fact.id for fact in facts}
        await follow_change(self._engine, tx, person_id, change=change, current=current)
        return change

    async def some(self, person_id: str, ids: Sequence[str]) -> tuple[Fact, ...]:
        """Return the facts of a person that have these ids, in their order."""
        reads, sealer = self._engine.reads, self._engine.sealer
        rows = [(name, await reads.row(_SQL["fact"], name, person_id)) for name in ids]
        opened = [
            await sealer.open(reads, person_id, row[0], place=fact_place(name))
            for name, row in rows
            if row is not None
        ]
        return tuple(_decode(content) for content in opened if content is not None)

    async def has_loose(self, person_id: str) -> bool:
        """Return whether a person has a fact that is not structural."""
        known = self._recent.get(person_id)
        if known is None:
            return await has_any(self._engine, person_id)
        return any(not fact.is_structural for fact in known)


async def read_facts(engine: Engine, db: Reads, person_id: str) -> tuple[Fact, ...]:
    """Return the facts of a person over a given connection; none after an erasure."""
    rows = await db.rows(_SQL["of_person"], person_id, _MOST)
    opened = [
        await engine.sealer.open(db, person_id, sealed, place=fact_place(name))
        for name, sealed in rows
    ]
    return tuple(_decode(content) for content in opened if content is not None)


def erase_memory(tx: Tx, person_id: str) -> None:
    """Delete all facts of a person, inside the transaction that erases them."""
    for name in ("forget_facts", "forget_jobs", "forget_dream"):
        tx.put(_SQL[name], person_id)
    erase_vectors(tx, person_id)
