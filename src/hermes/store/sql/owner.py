"""Makes one person of the owner's channels, in one transaction; at every start, with an effect once.

What each of them had becomes what `link` makes of it. An operator's later word counts: channels that
were joined once and taken apart stay so.
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
        person_id = people[0] if people else await self._new()
        moved: tuple[Channel, ...] = ()
        if len(people) > 1 and not was_joined:
            person_id, moved = await self._unite(people, held)
        for channel, holder in held.items():
            if holder is None:
                self._tx.put(_PEOPLE["add_channel"], *channel, person_id, self._at)
            if holder is None or not was_joined:
                self._tx.put(_SQL["activate_of"], *channel, person_id, self._at)
        self._tx.put(_SQL["set_owner_person"], person_id.encode())
        return OwnerJoin(person_id=person_id, moved=moved)

    async def _unite(
        self, people: list[str], held: dict[Channel, str | None]
    ) -> tuple[str, tuple[Channel, ...]]:
        """Give every channel to one of these people; to none if they have other channels, too."""
        own = set(self._channels)
        wider = [one for one in people if await self._others(one, own)]
        blocked = [one for one in people if await self._tx.row(_SQL["is_blocked"], one)]
        if len(wider) > 1 or blocked:
            return people[0], ()
        target = wider[0] if wider else people[0]
        moved = tuple(one for one, holder in held.items() if holder not in (None, target))
        for platform, user_id in moved:
            await link_channel(
                self._tx,
                platform,
                user_id,
                person_id=target,
                sealer=self._sealer,
                lets_in=True,
                at=self._at,
            )
        return target, moved

    async def _others(self, person_id: str, own: set[Channel]) -> bool:
        rows = await self._tx.rows(_SQL["channels"], person_id)
        return any((row[0], row[1]) not in own for row in rows)

    async def _holder(self, channel: Channel) -> str | None:
        row = await self._tx.row(_SQL["owner"], *channel)
        return None if row is None else str(row[0])

    async def _new(self) -> str:
        return await add_person(self._tx, sealer=self._sealer, make_id=self._make_id, at=self._at)
