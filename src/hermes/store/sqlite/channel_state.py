"""What channels remember over a restart; the values are encrypted with a key of their own."""

from hermes.errors import GuardFailed
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.queries import load

_SQL = load("channel_state")
# The owner of the values: a separate key beside those of people.
_OWNER = "channels"
# No key begins with it; a range of keys with one prefix ends there.
_LAST = "\U0010ffff"


class SqliteChannelState:
    """Implements `ports.channel_state.ChannelState`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def get(self, platform: str, key: str) -> bytes | None:
        """Return a value, or None if there is none."""
        db = self._engine.reader
        row = db.row(_SQL["get"], (platform, key))
        return None if row is None else self._engine.sealer.open(db, _OWNER, row[0])

    async def put(self, platform: str, key: str, *, value: bytes, fence: int | None = None) -> None:
        """Store a value in place of the one before."""

        def unit(db: Database) -> None:
            if db.row(_SQL["has_key"], (_OWNER,)) is None:
                self._engine.sealer.make_key(db, _OWNER)
            sealed = self._engine.sealer.seal(db, _OWNER, value)
            db.execute(_SQL["put"], (platform, key, sealed, fence, self._engine.clock.now()))
            if db.changes() != 1:
                raise _outdated(platform, key)

        await self._engine.writer.run("put_channel_state", unit)

    async def drop(self, platform: str, key: str, *, fence: int | None = None) -> None:
        """Delete a value and its fence, if there is one."""

        def unit(db: Database) -> None:
            db.execute(_SQL["drop"], (platform, key, fence))
            if db.changes() == 0 and db.row(_SQL["get"], (platform, key)) is not None:
                raise _outdated(platform, key)

        await self._engine.writer.run("drop_channel_state", unit)

    async def trim(self, platform: str, prefix: str, *, keep: int) -> int:
        """Delete all but the `keep` values written last whose key begins so; return how many."""

        def unit(db: Database) -> int:
            db.execute(_SQL["trim"], (platform, prefix, prefix + _LAST, keep))
            return db.changes()

        return await self._engine.writer.run("trim_channel_state", unit)


def _outdated(platform: str, key: str) -> GuardFailed:
    return GuardFailed(
        f"the state {key!r} of {platform} was written under a later claim on the channel; this "
        "process no longer holds it"
    )
