"""Stored responses: encrypted for the person they were answered for, bounded, deleted with them.

A response names the one that it continues, and holds only what its own call added. Responses that
begin with the same one are a conversation: it expires as a whole, after it was last continued.
"""

from collections.abc import Iterable

from hermes.errors import PreviousResponseNotFound
from hermes.ports.responses import NewResponse, ResponseOwner, StoredResponse
from hermes.store.sql.engine import Engine
from hermes.store.sql.places import blob_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Row, Tx

_SQL = load("responses")
_UPKEEP = load("upkeep")
# As many as one unit may drop without delaying the others.
_DROPPED_AT_ONCE = 500


def erase_responses(tx: Tx, person_id: str) -> None:
    """Delete the responses of a person and their bodies, inside a transaction."""
    for name in ("drop_bodies_of", "drop_responses_of", "drop_chains_of"):
        tx.put(_SQL[name], person_id)


class SqlResponses:
    """Implements `ports.responses.ResponseStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def put(self, new: NewResponse, *, keep: int, keep_bytes: int) -> None:
        """Store a response; its conversation expires with it.

        Of what the key has beyond `keep` and `keep_bytes`, the least recently continued is deleted.
        Raises `PreviousResponseNotFound` if what it continues is gone, and `PersonErased`.
        """
        owner, size, put = new.owner, len(new.items) + len(new.answer), self._engine.sealer.put

        async def unit(tx: Tx) -> None:
            root, depth, before = await _place(tx, new)
            tx.put(
                _SQL["add"],
                new.id,
                root,
                new.previous,
                depth,
                size,
                before + len(new.items),
                await put(tx, owner.person_id, new.items),
                await put(tx, owner.person_id, new.answer),
                new.at,
            )
            tx.put(_SQL["extend"], root, owner.key_id, owner.person_id, size, new.expires_at)
            await _trim(tx, new, root, keep=keep, keep_bytes=keep_bytes)

        await self._engine.writer.run("put_response", unit)

    async def get(
        self, response_id: str, *, owner: ResponseOwner, now: float
    ) -> StoredResponse | None:
        """Return a response of this owner that has not expired."""
        person_id = owner.person_id
        which = (response_id, owner.key_id, person_id, now)
        row = await self._engine.reads.row(_SQL["get"], *which)
        return None if row is None else await self._opened(response_id, row, person_id)

    async def stored_until(self, response_id: str, *, now: float) -> float | None:
        """Return when a response expires, whoever owns it; None if it is not stored."""
        row = await self._engine.reads.row(_SQL["stored_until"], response_id, now)
        return None if row is None else float(row[0])

    async def of_person(
        self, person_id: str, *, most_bytes: int
    ) -> tuple[tuple[StoredResponse, ...], int]:
        """Return the newest responses of a person, and how many more there are."""
        found: list[StoredResponse] = []
        size, rows = 0, await self._engine.reads.rows(_SQL["of_person"], person_id)
        for number, (response_id, its_size) in enumerate(rows):
            size += its_size
            if size > most_bytes:
                return tuple(found), len(rows) - number
            row = await self._engine.reads.row(_SQL["with_bodies"], response_id, person_id)
            one = None if row is None else await self._opened(response_id, row, person_id)
            found += [] if one is None else [one]
        return tuple(found), 0

    async def _opened(self, response_id: str, row: Row, person_id: str) -> StoredResponse | None:
        reads, sealer = self._engine.reads, self._engine.sealer
        items = await sealer.open(reads, person_id, row[0], place=blob_place(row[6]))
        answer = await sealer.open(reads, person_id, row[1], place=blob_place(row[7]))
        if items is None or answer is None:
            return None
        return StoredResponse(
            id=response_id,
            items=items,
            answer=answer,
            previous=row[2],
            depth=row[3],
            context_size=row[4],
            at=row[5],
        )

    async def chain(self, response: StoredResponse, *, owner: ResponseOwner) -> tuple[bytes, ...]:
        """Return the items of a conversation up to a response, oldest first, without deleted ones."""
        reads, person_id = self._engine.reads, owner.person_id
        rows = await reads.rows(_SQL["chain"], response.id, person_id)
        found = [
            await self._engine.sealer.open(reads, person_id, sealed, place=blob_place(body))
            for sealed, body in rows
        ]
        return tuple(items for items in found if items is not None)

    async def delete(self, response_id: str, *, owner: ResponseOwner, now: float) -> bool:
        """Delete a response; False if this owner has none of this id."""
        which = (response_id, owner.key_id, owner.person_id, now)

        async def unit(tx: Tx) -> bool:
            rows = await tx.rows(_SQL["find"], *which)
            _drop(tx, rows)
            return bool(rows)

        return await self._engine.writer.run("delete_response", unit)

    async def forget(self, *, before: float) -> int:
        """Delete responses that expired before then; return how many."""

        async def unit(tx: Tx) -> int:
            done = 0
            for (root,) in await tx.rows(_SQL["expired"], before, _DROPPED_AT_ONCE):
                rows = await tx.rows(_SQL["oldest"], root, _DROPPED_AT_ONCE - done)
                _drop(tx, rows)
                done += len(rows)
                if done == _DROPPED_AT_ONCE:
                    break
            return done

        dropped = 0
        while await self._engine.reads.row(_SQL["expired"], before, 1) is not None:
            dropped += await self._engine.writer.run("forget_responses", unit)
        return dropped


async def _place(tx: Tx, new: NewResponse) -> tuple[str, int, int]:
    """Return a response's conversation, its depth in it, and the bytes of what it continues."""
    if new.previous is None:
        return new.id, 1, 0
    owner = new.owner
    head = await tx.row(_SQL["head"], new.previous, owner.key_id, owner.person_id)
    if head is None:
        # Without it the conversation would go on as if nothing had been said before.
        raise PreviousResponseNotFound(new.previous)
    return str(head[0]), int(head[1]) + 1, int(head[2])


async def _trim(tx: Tx, new: NewResponse, root: str, *, keep: int, keep_bytes: int) -> None:
    """Delete what a key has beyond the bounds: whole conversations first, of the newest its oldest."""
    row = await tx.row(_SQL["use"], new.owner.key_id)
    assert row is not None
    count, size, left = int(row[0]), int(row[1]), _DROPPED_AT_ONCE
    if count <= keep and size <= keep_bytes:
        return
    unused = await tx.rows(_SQL["unused"], new.owner.key_id, left)
    for name in (*(one for (one,) in unused if one != root), root):
        rows = await tx.rows(_SQL["oldest"], name, left)
        surplus: list[Row] = []
        for one in rows:
            is_over = count > keep or size > keep_bytes
            if one[0] != new.id and (is_over or (surplus and name != root)):
                surplus.append(one)
                count, size = count - 1, size - one[2]
        _drop(tx, surplus)
        left -= len(surplus)
        if left <= 0 or (count <= keep and size <= keep_bytes):
            return


def _drop(tx: Tx, rows: Iterable[Row]) -> None:
    for response_id, root, size, items, answer in rows:
        tx.put(_SQL["drop"], response_id)
        tx.put(_UPKEEP["drop_body"], items)
        tx.put(_UPKEEP["drop_body"], answer)
        tx.put(_SQL["shorten"], root, size)
        tx.put(_SQL["drop_empty"], root)
