"""What channels remember over a restart; the values are encrypted with a key of their own."""

from hermes.errors import GuardFailed
from hermes.store.sql.engine import Engine
from hermes.store.sql.places import state_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("channel_state")
# The owner of the values: a separate key beside those of people.
_OWNER = "channels"
# No key begins with it; a range of keys with one prefix ends there.
_LAST = "\U0010ffff"


class SqlChannelState:
    """Implements `ports.channel_state.ChannelState`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def get(self, platform: str, key: str) -> bytes | None:
        """Return a value, or None if there is none."""
        reads = self._engine.reads
        row = await reads.row(_SQL["get"], platform, key)
        if row is None:
            return None
        place = state_place(platform, key)
        return await self._engine.sealer.open(reads, _OWNER, row[0], place=place)

    async def put(self, platform: str, key: str, *, value: bytes, fence: int | None = None) -> None:
        """Store a value in place of the one before."""

        async def unit(tx: Tx) -> None:
            if await tx.row(_SQL["has_key"], _OWNER) is None:
                self._engine.sealer.make_key(tx, _OWNER)
            place = state_place(platform, key)
            sealed = await self._engine.sealer.seal(tx, _OWNER, value, place=place)
            row = (platform, key, sealed, fence, self._engine.clock.now())
            tx.must(_SQL["put"], *row, error=_outdated(platform, key))

        await self._engine.writer.run("put_channel_state", unit)

    async def drop(self, platform: str, key: str, *, fence: int | None = None) -> None:
        """Delete a value and its fence, if there is one."""

        async def unit(tx: Tx) -> None:
            is_gone = await tx.changed(_SQL["drop"], platform, key, fence) > 0
            if not is_gone and await tx.row(_SQL["get"], platform, key) is not None:
                raise _outdated(platform, key)

        await self._engine.writer.run("drop_channel_state", unit)

    async def trim(self, platform: str, prefix: str, *, keep: int) -> int:
        """Delete all but the `keep` values written last whose key begins so; return how many."""

        async def unit(tx: Tx) -> int:
            return await tx.changed(_SQL["trim"], platform, prefix, prefix + _LAST, keep)

        return await self._engine.writer.run("trim_channel_state", unit)

    def digest(self, content: bytes) -> bytes:
        """Return a keyed digest, the same after a restart; without the store's key it tells nothing."""
        return self._engine.sealer.digest(content)


def _outdated(platform: str, key: str) -> GuardFailed:
    return GuardFailed(
        f"the state {key!r} of {platform} was written under a later claim on the channel; this "
        "process no longer holds it"
    )
