"""Secrets that operators store, sealed with a key for each agent and bound to their names."""

from collections.abc import Callable

from hermes.errors import BadRequest
from hermes.ports.secrets import EVERY_AGENT, SecretValues, StoredSecret
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.places import secret_place
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Rows, Tx

_SQL = load("secrets")
_HASH_DIGITS = 8
_OWNER = "secrets"
_COLUMNS = ("name", "agent", "hash", "set_at", "set_by")


class SqlSecrets:
    """Implements `ports.secrets.SecretStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # The key of an agent whose secrets were erased is another one from then on.
        engine.feed.on("secrets", lambda agent: engine.sealer.forget(_owner(agent)))

    async def values(self) -> SecretValues:
        """Return every secret with its value."""
        return await self._engine.reads.look(lambda db: secret_values(db, self._engine.sealer))

    async def list(self, agent: str) -> tuple[StoredSecret, ...]:
        """Return the secrets of an agent, or those of the gateway, by name."""
        rows = await self._engine.reads.rows(_SQL["list"], agent)
        return tuple(StoredSecret(**dict(zip(_COLUMNS, row, strict=True))) for row in rows)

    async def put(
        self, name: str, value: str, *, agent: str, at: float, by: str, most: int
    ) -> StoredSecret:
        """Set a secret, in place of the one before."""
        kept = self._row(name, value, agent=agent, at=at, by=by)

        async def unit(tx: Tx) -> StoredSecret:
            if await tx.one(_SQL["others"], agent, name) >= most:
                raise BadRequest(
                    f"There are {most:,} secrets already: delete some that nothing uses any more "
                    "(hermes secrets delete)."
                )
            await self._put(tx, kept, value)
            return kept

        return await self._engine.writer.run("put_secret", unit, after=self._telling(agent))

    async def replace(
        self, name: str, value: str, *, before: str, agent: str, at: float, by: str
    ) -> bool:
        """Set a secret whose value is `before`; False, and nothing is set, if it is not."""
        kept, place = self._row(name, value, agent=agent, at=at, by=by), secret_place(agent, name)

        async def unit(tx: Tx) -> bool:
            row = await tx.locked(_SQL["sealed"], agent, name)
            if row is None:
                return False
            found = await self._engine.sealer.open(tx, _owner(agent), row[0], place=place)
            if found != before.encode():
                return False
            await self._put(tx, kept, value)
            return True

        return await self._engine.writer.run("replace_secret", unit, after=self._telling(agent))

    async def _put(self, tx: Tx, kept: StoredSecret, value: str) -> None:
        sealed = await self._sealed(tx, kept.agent, kept.name, value=value)
        tx.put(_SQL["put"], kept.agent, kept.name, sealed, kept.hash, kept.set_at, kept.set_by)
        self._engine.feed.put(tx, "secrets", kept.agent)

    def _row(self, name: str, value: str, *, agent: str, at: float, by: str) -> StoredSecret:
        return StoredSecret(
            name=name, agent=agent, hash=self._hash(agent, name, value), set_at=at, set_by=by
        )

    async def drop(self, name: str, *, agent: str) -> bool:
        """Delete a secret; False if there is none."""

        async def unit(tx: Tx) -> bool:
            self._engine.feed.put(tx, "secrets", agent)
            return await tx.changed(_SQL["drop"], agent, name) == 1

        return await self._engine.writer.run("drop_secret", unit, after=self._telling(agent))

    async def erase(self, agent: str) -> int:
        """Delete every secret of an agent, and the key that they are sealed with; return how many."""

        async def unit(tx: Tx) -> int:
            return await self.erase_in(tx, agent)

        return await self._engine.writer.run("erase_secrets", unit, after=self._telling(agent))

    async def erase_in(self, tx: Tx, agent: str) -> int:
        """Do the same as `erase` inside another unit, such as the one that deletes the agent.

        After the commit the feed has to tell of `secrets`.
        """
        self._engine.feed.put(tx, "secrets", agent)
        tx.put(_SQL["drop_key"], _owner(agent))
        return await tx.changed(_SQL["erase"], agent)

    def _telling(self, agent: str) -> Callable[[object], None]:
        return self._engine.feed.telling("secrets", agent)

    async def _sealed(self, tx: Tx, agent: str, name: str, *, value: str) -> bytes:
        owner = _owner(agent)
        if await tx.row(_SQL["has_key"], owner) is None:
            self._engine.sealer.make_key(tx, owner)
        place = secret_place(agent, name)
        return await self._engine.sealer.seal(tx, owner, value.encode(), place=place)

    def _hash(self, agent: str, name: str, value: str) -> str:
        """Return digits that tell two values of one secret apart; those of two secrets never match."""
        if not value:
            return ""
        content = encode(("secret", agent, name, value))
        return self._engine.sealer.digest(content).hex()[:_HASH_DIGITS]


def secret_values(db: Rows, sealer: Sealer) -> SecretValues:
    """Return every secret with its value, for code that reads plainly."""
    found: dict[tuple[str, str], str] = {}
    for agent, name, sealed in db.rows(_SQL["all"]):
        place = secret_place(agent, name)
        content = sealer.open_at_once(db, _owner(agent), sealed, place=place)
        if content is not None:
            found[agent, name] = content.decode()
    return found


def _owner(agent: str) -> str:
    """Return whose key seals the secrets of an agent: no person's id has a colon."""
    return _OWNER if agent == EVERY_AGENT else f"{_OWNER}:{agent}"
