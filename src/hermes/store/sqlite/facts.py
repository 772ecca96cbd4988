"""Facts about people: encrypted, recently used ones cached, changed only here and by erasure."""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from hermes.ports.memory import Decide, Fact, FactChange
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.engine import Engine, encode
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.vectors import erase_vectors, follow_change, has_any

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


class SqliteFacts:
    """Implements `ports.memory.FactStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._recent = RecentFacts()

    async def of(self, person_id: str) -> tuple[Fact, ...]:
        """Return the facts of a person, oldest first; answered from memory."""
        known = self._recent.get(person_id)
        if known is None:
            known = read_facts(self._engine, self._engine.reader, person_id)
            self._recent.put(person_id, known)
        return known

    async def change(self, person_id: str, decide: Decide) -> FactChange:
        """Change a person's facts in one transaction; return what was changed."""

        def unit(db: Database) -> FactChange:
            return self.write(db, person_id, decide)

        def after(_: FactChange) -> None:
            self.forget(person_id)

        return await self._engine.writer.run("change_facts", unit, after=after)

    def write(self, db: Database, person_id: str, decide: Decide) -> FactChange:
        """Change a person's facts inside a transaction."""
        facts = read_facts(self._engine, db, person_id)
        change = decide(facts)
        if change.forget or change.forget_dream:
            db.execute(_SQL["forget_dream"], (person_id,))
        for fact_id in change.forget:
            db.execute(_SQL["forget_fact"], (fact_id, person_id))
        for fact in change.put:
            sealed = self._engine.sealer.seal(db, person_id, encode(fact))
            db.execute(_SQL["put_fact"], (fact.id, person_id, fact.at, sealed))
        current = {fact.id for fact in facts}
        follow_change(self._engine, db, person_id, change=change, current=current)
        return change

    def forget(self, person_id: str) -> None:
        """Drop the cached facts of a person whose facts were changed."""
        self._recent.drop(person_id)

    async def some(self, person_id: str, ids: Sequence[str]) -> tuple[Fact, ...]:
        """Return the facts of a person that have these ids, in their order."""
        reader, sealer = self._engine.reader, self._engine.sealer
        rows = (reader.row(_SQL["fact"], (name, person_id)) for name in ids)
        opened = (sealer.open(reader, person_id, row[0]) for row in rows if row is not None)
        return tuple(_decode(content) for content in opened if content is not None)

    async def has_loose(self, person_id: str) -> bool:
        """Return whether a person has a fact that is not structural."""
        known = self._recent.get(person_id)
        if known is None:
            return has_any(self._engine, person_id)
        return any(not fact.is_structural for fact in known)


def read_facts(engine: Engine, db: Database, person_id: str) -> tuple[Fact, ...]:
    """Return the facts of a person over a given connection; none after an erasure."""
    rows = db.rows(_SQL["of_person"], (person_id, _MOST))
    opened = (engine.sealer.open(db, person_id, row[1]) for row in rows)
    return tuple(_decode(content) for content in opened if content is not None)


def erase_memory(db: Database, person_id: str) -> None:
    """Delete all facts of a person, inside the transaction that erases them."""
    for name in ("forget_facts", "forget_jobs", "forget_dream"):
        db.execute(_SQL[name], (person_id,))
    erase_vectors(db, person_id)
