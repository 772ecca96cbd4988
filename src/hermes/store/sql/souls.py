"""The blocks that sessions began with, so that every later turn begins with the same bytes.

The commit of the first turn writes them. One row per session: a new conversation replaces it.
"""

from collections import OrderedDict

import msgspec

from hermes.ports.memory import SaidBefore, Soul
from hermes.ports.turns import Commit
from hermes.store.sql.engine import Engine, decode_event, encode
from hermes.store.sql.places import event_place, soul_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx

_SQL = load("memory")
_KEPT = 200
_decode = msgspec.json.Decoder(tuple[str, ...]).decode


class SqlSouls:
    """Implements `ports.memory.SoulStore`; recently read blocks are cached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._recent: OrderedDict[str, tuple[int, Soul]] = OrderedDict()
        engine.feed.on("erasure", lambda _key: self._recent.clear())

    async def get(self, lane: str, epoch: int) -> Soul | None:
        """Return the blocks of a session that has begun; none for an erased person."""
        known = self._recent.get(lane)
        if known is not None and known[0] == epoch:
            return known[1]
        reads, stamp = self._engine.reads, self._engine.feed.stamp
        row = await reads.row(_SQL["soul"], lane, epoch)
        if row is None:
            return None
        place = soul_place(lane, epoch)
        content = await self._engine.sealer.open(reads, row[0], row[2], place=place)
        blocks = () if content is None else _decode(content)
        soul = Soul(row[0], blocks, row[1])
        if stamp == self._engine.feed.stamp:
            self._recent[lane] = (epoch, soul)
        if len(self._recent) > _KEPT:
            self._recent.popitem(last=False)
        return soul

    async def write(self, tx: Tx, lane: str, commit: Commit) -> None:
        """Store the blocks that a session began with, inside its first commit."""
        soul = commit.soul
        if soul is None or not commit.entries:
            return
        # The turn holds the lane: nobody reads it before this is on disk.
        self._recent.pop(lane, None)
        sealed = await self._engine.sealer.seal(
            tx, soul.person_id, encode(soul.blocks), place=soul_place(lane, commit.epoch)
        )
        tx.put(_SQL["put_soul"], lane, commit.epoch, soul.person_id, soul.shared_from, sealed)

    def drop(self, lane: str) -> None:
        """Drop the cached blocks of one session."""
        self._recent.pop(lane, None)

    async def said_before(
        self, person_id: str, *, lane: str, epoch: int, limit: int
    ) -> tuple[SaidBefore, ...]:
        """Return the newest messages of a person's other sessions, oldest first."""
        reads, sealer = self._engine.reads, self._engine.sealer
        rows = await reads.rows(_SQL["said_before"], person_id, lane, epoch, limit)
        said = []
        for message_id, body, at in reversed(rows):
            content = await sealer.get(reads, body, owner=person_id, place=event_place(message_id))
            text = "" if content is None else decode_event(content).text
            if text:
                said.append(SaidBefore(text, at))
        return tuple(said)
