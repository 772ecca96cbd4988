"""The vectors of people's facts: encrypted pages, and which facts still lack a vector.

The transaction that writes a fact marks it as lacking its vector; the one that stores the vector
removes the mark. So after a crash the vector is computed later. Outdated vectors leave the pages in
the transaction that changes the fact.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from hermes.ports.memory import Fact, FactChange
from hermes.ports.vectors import (
    Edits,
    Page,
    PageInfo,
    added,
    compacted,
    count_of,
    dropped,
    is_scattered,
)
from hermes.store.sql.engine import Engine
from hermes.store.sql.places import fact_place, page_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Rows, Tx

_SQL = load("vectors")
_FACTS = load("memory")
_decode = msgspec.json.Decoder(Fact).decode


class SqlVectors:
    """Implements `ports.memory.VectorStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def pages(self, person_id: str, model: str) -> tuple[bytes, ...]:
        """Return the pages of a person from this model."""
        reads, sealer = self._engine.reads, self._engine.sealer
        rows = await reads.rows(_SQL["pages"], person_id, model)
        opened = [
            await sealer.open(reads, person_id, sealed, place=page_place(model, number))
            for number, sealed in rows
        ]
        return tuple(page for page in opened if page is not None)

    async def waiting(self, person_id: str, *, limit: int) -> tuple[Fact, ...]:
        """Return facts of a person without a vector; structural ones may be among them."""
        reads, sealer = self._engine.reads, self._engine.sealer
        rows = await reads.rows(_SQL["waiting"], person_id, limit)
        opened = [
            await sealer.open(reads, person_id, sealed, place=fact_place(name))
            for name, sealed in rows
        ]
        return tuple(_decode(content) for content in opened if content is not None)

    async def is_foreign(self, person_id: str, model: str) -> bool:
        """Return whether a person has pages from another model."""
        return await self._engine.reads.row(_SQL["foreign"], person_id, model) is not None

    async def keep(self, person_id: str, page: Page, *, facts: Sequence[Fact]) -> None:
        """Store the vectors of facts; facts that have changed meanwhile are skipped."""

        async def unit(tx: Tx) -> None:
            same = {fact.id for fact in facts if await self._is_waiting(tx, person_id, fact)}
            pages = _Pages(self._engine, tx, person_id=person_id, model=page.model)
            await pages.add(page.keep(lambda name: name in same))
            for name in same:
                tx.put(_SQL["unwant"], person_id, name)

        await self._engine.writer.run("keep_vectors", unit)

    async def renew(self, person_id: str) -> None:
        """Drop every vector of a person; all their facts need new ones."""

        async def unit(tx: Tx) -> None:
            tx.put(_SQL["drop_pages"], person_id)
            tx.put(_SQL["want_all"], person_id)

        await self._engine.writer.run("renew_vectors", unit)

    async def _is_waiting(self, tx: Tx, person_id: str, fact: Fact) -> bool:
        """Return whether a fact is unchanged and still has no vector."""
        row = await tx.row(_FACTS["fact"], fact.id, person_id)
        if row is None or await tx.row(_SQL["is_wanted"], person_id, fact.id) is None:
            return False
        place = fact_place(fact.id)
        content = await self._engine.sealer.open(tx, person_id, row[0], place=place)
        return content is not None and _decode(content) == fact


class _Pages:
    """The pages of one person and model, inside a transaction."""

    def __init__(self, engine: Engine, tx: Tx, *, person_id: str, model: str) -> None:
        self._sealer = engine.sealer
        self._unit = tx
        self._person_id = person_id
        self._model = model

    async def add(self, page: Page) -> None:
        infos = await self._infos()
        if is_scattered(infos):
            whole = [await self._read(info.number) for info in infos]
            await self._write(dict.fromkeys((info.number for info in infos), None))
            await self._write(dict(enumerate(compacted(whole, self._model))))
            infos = await self._infos()
        edits = await self._unit.look(
            lambda db: added(page, infos, read=lambda number: self._read_at_once(db, number))
        )
        await self._write(edits)

    async def drop(self, ids: Collection[str], pages: Mapping[int, bytes]) -> None:
        opened = {number: await self._open(sealed, number) for number, sealed in pages.items()}
        await self._write(dropped(ids, opened))

    async def _infos(self) -> list[PageInfo]:
        rows = await self._unit.rows(_SQL["counts"], self._person_id, self._model)
        return [PageInfo(number, count) for number, count in rows]

    async def _read(self, number: int) -> bytes:
        row = (self._person_id, self._model, number)
        return await self._open(await self._unit.one(_SQL["page"], *row), number)

    def _read_at_once(self, db: Rows, number: int) -> bytes:
        sealed = db.one(_SQL["page"], (self._person_id, self._model, number))
        place = page_place(self._model, number)
        return self._sealer.open_at_once(db, self._person_id, sealed, place=place) or b""

    async def _open(self, sealed: bytes, number: int) -> bytes:
        # Without a key there is nothing to change: the write then reports that the person was
        # erased.
        place = page_place(self._model, number)
        return await self._sealer.open(self._unit, self._person_id, sealed, place=place) or b""

    async def _write(self, edits: Edits) -> None:
        for number, page in edits.items():
            row = (self._person_id, self._model, number)
            if page is None:
                self._unit.put(_SQL["drop_page"], *row)
            else:
                sealed = await self._sealer.seal(
                    self._unit, self._person_id, page, place=page_place(self._model, number)
                )
                self._unit.put(_SQL["put_page"], *row, count_of(page), sealed)


async def follow_change(
    engine: Engine,
    tx: Tx,
    person_id: str,
    *,
    change: FactChange,
    current: Collection[str],
) -> None:
    """Remove changed facts from the pages, inside a transaction; `current` are the old ids."""
    old = {*change.forget, *(fact.id for fact in change.put)}.intersection(current)
    if old:
        by_model: dict[str, dict[int, bytes]] = {}
        for model, number, sealed in await tx.rows(_SQL["all_pages"], person_id):
            by_model.setdefault(model, {})[number] = sealed
        for model, pages in by_model.items():
            await _Pages(engine, tx, person_id=person_id, model=model).drop(old, pages)
    for fact_id in change.forget:
        tx.put(_SQL["unwant"], person_id, fact_id)
    for fact in change.put:
        tx.put(_SQL["unwant" if fact.is_structural else "want"], person_id, fact.id)


async def has_any(engine: Engine, person_id: str) -> bool:
    """Return whether a person has a fact with a vector or waiting for one."""
    return bool(await engine.reads.one(_SQL["any"], person_id))


def erase_vectors(tx: Tx, person_id: str) -> None:
    """Delete the vectors of a person, inside the transaction that erases them."""
    tx.put(_SQL["drop_pages"], person_id)
    tx.put(_SQL["unwant_all"], person_id)
