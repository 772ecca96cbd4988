"""Keys of the callers of `/v1`, by the hash of their secret; read for every request."""

from typing import Any

import msgspec

from hermes.message.ids import MakeId
from hermes.ports.keys import CallerKey
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.newcomers import find_or_add_person
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("keys")
KEYS_PLATFORM = "v1"
_FOUND_KEPT = 10_000
_decode_models = msgspec.json.Decoder(tuple[str, ...]).decode


class SqlKeys:
    """Implements `ports.keys.KeyStore`."""

    def __init__(self, engine: Engine, *, make_id: MakeId) -> None:
        self._engine = engine
        self._make_id = make_id
        # The results of `find` and `get`; every change of a key or of a person clears it.
        self._found: dict[bytes | str, CallerKey] = {}
        for kind in ("keys", "people", "erasure"):
            engine.feed.on(kind, lambda _key: self._found.clear())

    async def add(self, key: CallerKey, *, digest: bytes, user: str) -> CallerKey:
        """Store a new key for the person behind `user` (created if unknown); return both."""

        async def unit(tx: Tx) -> CallerKey:
            person_id = await find_or_add_person(
                tx,
                KEYS_PLATFORM,
                user,
                sealer=self._engine.sealer,
                make_id=self._make_id,
                at=key.created_at,
            )
            kept = msgspec.structs.replace(key, user=user, person_id=person_id)
            tx.put(_SQL["add"], digest, *_columns(kept))
            self._engine.feed.put(tx, "keys", kept.id)
            return kept

        return await self._engine.writer.run("add_key", unit, after=self._told)

    async def find(self, digest: bytes) -> CallerKey | None:
        """Return the key with this hash, including revoked or expired ones; from memory."""
        return await self._known(digest, "find")

    async def get(self, key_id: str) -> CallerKey | None:
        """Return the key of this id; from memory."""
        return await self._known(key_id, "get")

    async def _known(self, name: bytes | str, query: str) -> CallerKey | None:
        found = self._found.get(name)
        if found is not None:
            return found
        stamp = self._engine.feed.stamp
        row = await self._engine.reads.row(_SQL[query], name)
        if row is None:
            return None
        if len(self._found) >= _FOUND_KEPT:
            self._found.clear()
        key = _key(row)
        if stamp == self._engine.feed.stamp:
            self._found[name] = key
        return key

    async def list(self) -> tuple[CallerKey, ...]:
        """Return every key, newest first."""
        return tuple(_key(row) for row in await self._engine.reads.rows(_SQL["list"]))

    async def revoke(self, key_id: str, *, at: float) -> bool:
        """Revoke a key; False if there is none of this id that is not revoked already."""

        async def unit(tx: Tx) -> bool:
            self._engine.feed.put(tx, "keys", key_id)
            return await tx.changed(_SQL["revoke"], key_id, at) == 1

        return await self._engine.writer.run("revoke_key", unit, after=self._told)

    def _told(self, _result: object) -> None:
        self._engine.feed.tell("keys")


# Any: SQLite's values, in the order of the columns that `find` and `list` name.
def _columns(key: CallerKey) -> tuple[Any, ...]:
    return (
        key.id,
        key.label,
        key.user,
        key.person_id,
        key.hint,
        key.created_at,
        encode(key.models).decode(),
        key.budget_usd,
        key.budget_period,
        key.budget_tokens,
        key.requests_per_minute,
        key.max_output_tokens,
        key.expires_at,
        key.revoked_at,
        key.store_responses,
        key.may_delegate,
        key.read_history,
    )


def _key(row: tuple[Any, ...]) -> CallerKey:
    return CallerKey(
        id=row[0],
        label=row[1],
        user=row[2],
        person_id=row[3],
        hint=row[4],
        created_at=row[5],
        models=_decode_models(row[6]),
        budget_usd=row[7],
        budget_period=row[8],
        budget_tokens=row[9],
        requests_per_minute=row[10],
        max_output_tokens=row[11],
        expires_at=row[12],
        revoked_at=row[13],
        store_responses=bool(row[14]),
        may_delegate=bool(row[15]),
        read_history=bool(row[16]),
        tier=row[17],
    )
