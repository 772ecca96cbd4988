"""The blocks that sessions began with, so that every later turn begins with the same bytes.

The commit of the first turn writes them. One row per session: a new conversation replaces it.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from hermes.message.session_key import graph_name
from hermes.ports.memory import SaidBefore, Soul
from hermes.ports.turns import Commit
from hermes.store.sql.conversation_pages import taken_out
from hermes.store.sql.engine import Engine, decode_event, encode
from hermes.store.sql.graph_names import GraphNames
from hermes.store.sql.places import event_place, soul_place
from hermes.store.sql.queries import load
from hermes.store.sql.transcript_reader import TranscriptReader
from hermes.store.sql.tx import Rows, Tx

_SQL = load("memory")
_KEPT = 200
# Messages that are read for each that a session is told: commands and what was taken out are not.
_LOOKS = 4
_decode = msgspec.json.Decoder(tuple[str, ...]).decode


class SqlSouls:
    """Implements `ports.memory.SoulStore`; recently read blocks are cached."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._names = GraphNames(engine.sealer.hasher())
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
        self,
        person_id: str,
        *,
        lane: str,
        epoch: int,
        limit: int,
        is_command: Callable[[str], bool],
    ) -> tuple[SaidBefore, ...]:
        """Return the newest messages of a person's other sessions, oldest first."""
        most = limit * _LOOKS
        rows = await self._engine.reads.rows(_SQL["said_before"], person_id, lane, epoch, most)
        left = await self._without_taken_out([_SaidRow(*row) for row in rows])
        said: list[SaidBefore] = []
        for row in left:
            text = await self._text(person_id, row)
            if text and not is_command(text):
                said.append(SaidBefore(text, row.at))
            if len(said) == limit:
                break
        return tuple(reversed(said))

    async def _text(self, person_id: str, row: "_SaidRow") -> str:
        place = event_place(row.id)
        content = await self._engine.sealer.get(
            self._engine.reads, row.body, owner=person_id, place=place
        )
        return "" if content is None else decode_event(content).text

    async def _without_taken_out(self, rows: list["_SaidRow"]) -> list["_SaidRow"]:
        """Return the messages that are still in their conversations."""
        if not rows:
            return rows
        gone = await self._engine.reads.look(lambda db: self._taken_out(db, rows))
        return [row for row in rows if row.turn not in gone]

    def _taken_out(self, db: Rows, rows: list["_SaidRow"]) -> set[str]:
        """Return the turns of which nothing is left in their conversations."""
        reader = TranscriptReader(db, sealer=self._engine.sealer, hasher=self._names.hasher)
        # The rows come newest first: the last of a conversation is its oldest.
        since = {graph_name(row.lane, row.epoch): row.at for row in rows}
        return {
            turn
            for name, at in since.items()
            for turn, part in taken_out(reader, name, since=at, most=len(rows)).items()
            if part == "all"
        }


class _SaidRow(NamedTuple):
    """A row of `said_before`."""

    id: str
    body: int
    at: float
    lane: str
    epoch: int
    turn: str
