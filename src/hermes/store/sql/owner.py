"""Makes one person of the owner's channels, in one transaction; at every start, with an effect once.

What each of them had becomes what `link` makes of it. People who have further channels are not made
one, nor is one who has them only at the terminal the owner: an operator links them. An operator's
later word counts: channels that were joined once and taken apart stay so.
"""

from collections.abc import Sequence

from hermes.message.ids import MakeId
from hermes.ports.people import OwnerJoin
from hermes.store.sql.engine import Engine
from hermes.store.sql.newcomers import add_person
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Reads, Tx
from hermes.store.sql.users import link_channel

_SQL = load("users")
_PEOPLE = load("people")
Channel = tuple[str, str]


class SqlOwners:
    """Implements `ports.people.OwnerStore`."""

    def __init__(self, engine: Engine, *, make_id: MakeId) -> None:
        self._engine = engine
        self._make_id = make_id

    async def join(self, channels: Sequence[Channel], *, at: float) -> OwnerJoin | None:
        """Make one person, the owner, of these channels, once; None if there is nothing to do."""
        if await _is_joined(self._engine.reads, channels):
            return None
        engine, make_id = self._engine, self._make_id

        async def unit(tx: Tx) -> OwnerJoin:
            work = _OwnerUnit(tx, channels, sealer=engine.sealer, make_id=make_id, at=at)
            return await work.join()

        return await engine.writer.run(
            "join_owner", unit, after=lambda _done: engine.feed.tell("people")
        )


async def _is_joined(db: Reads, channels: Sequence[Channel]) -> bool:
    """Return whether there is nothing to do: all channels are known, the first is the owner's."""
    owner = await db.row(_SQL["owner_person"])
    held = [await db.row(_SQL["owner"], *channel) for channel in channels]
    if owner is None or any(row is None for row in held):
        return False
    return held[0] is not None and held[0][0] == owner[0]


class _OwnerUnit:
    """The work of the transaction."""

    def __init__(
        self, tx: Tx, channels: Sequence[Channel], *, sealer: Sealer, make_id: MakeId, at: float
    ) -> None:
        self._tx = tx
        self._channels = channels
        self._sealer = sealer
        self._make_id = make_id
        self._at = at

    async def join(self) -> OwnerJoin:
        """Return the owner, and what was moved to them."""
        held = {channel: await self._holder(channel) for channel in self._channels}
        people = list(dict.fromkeys(one for one in held.values() if one is not None))
        was_joined = await self._tx.row(_SQL["owner_person"]) is not None
        person_id = await self._owner(held) or await self._new()
        moved: tuple[Channel, ...] = ()
        if not was_joined and await self._may_unite([person_id, *people]):
            moved = self._others_of(person_id, held)
            await self._move(moved, person_id)
        for channel, holder in held.items():
            if holder is None:
                self._tx.put(_PEOPLE["add_channel"], *channel, person_id, self._at)
            if holder is None or not was_joined:
                self._tx.put(_SQL["activate_of"], *channel, person_id, self._at)
        self._tx.put(_SQL["set_owner_person"], person_id.encode())
        apart = () if was_joined or moved else self._others_of(person_id, held)
        return OwnerJoin(person_id=person_id, moved=moved, apart=apart)

    async def _owner(self, held: dict[Channel, str | None]) -> str | None:
        """Return whose the first channel is; otherwise who has another, and no further ones."""
        first, *others = held.values()
        if first is not None:
            return first
        narrow = [one for one in others if one is not None and not await self._is_wider(one)]
        return narrow[0] if narrow else None

    async def _may_unite(self, people: list[str]) -> bool:
        """Return whether nobody of them has other channels or is blocked."""
        for one in people:
            if await self._is_wider(one) or await self._tx.row(_SQL["is_blocked"], one):
                return False
        return True

    def _others_of(self, person_id: str, held: dict[Channel, str | None]) -> tuple[Channel, ...]:
        return tuple(one for one, holder in held.items() if holder not in (None, person_id))

    async def _move(self, channels: tuple[Channel, ...], person_id: str) -> None:
        for platform, user_id in channels:
            await link_channel(
                self._tx,
                platform,
                user_id,
                person_id=person_id,
                sealer=self._sealer,
                lets_in=True,
                at=self._at,
            )

    async def _is_wider(self, person_id: str) -> bool:
        rows = await self._tx.rows(_SQL["channels"], person_id)
        return any((row[0], row[1]) not in self._channels for row in rows)

    async def _holder(self, channel: Channel) -> str | None:
        row = await self._tx.row(_SQL["owner"], *channel)
        return None if row is None else str(row[0])

    async def _new(self) -> str:
        return await add_person(self._tx, sealer=self._sealer, make_id=self._make_id, at=self._at)
