"""The history of a delivery: its last notes, encrypted with its person's key.

Written inside the transactions that change the outbox rows.
"""

import msgspec
import structlog

from hermes.errors import PersonErased, StoreError
from hermes.ports.outbox import DeliveryNote
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.places import story_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Reads, Tx

_SQL = load("outbox")
_log = structlog.get_logger(__name__)
_decode = msgspec.json.Decoder(tuple[DeliveryNote, ...]).decode
# Room for all tries of a day that failed in every way; beyond that, only the last are kept.
_MOST_NOTES = 32


class DeliveryStories:
    """Writes and reads the notes of deliveries."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def tell(self, tx: Tx, delivery_id: str, note: DeliveryNote | None) -> None:
        """Add a note inside the current transaction; for erased people only the count."""
        if note is None:
            return
        row = await tx.row(_SQL["story"], delivery_id)
        if row is None:
            return
        person_id, standing = row
        told = await self.read(tx, person_id, standing, delivery_id=delivery_id)
        notes = (*told, note)[-_MOST_NOTES:]
        try:
            sealed = await self._engine.sealer.seal(
                tx, person_id, encode(notes), place=story_place(delivery_id)
            )
        except PersonErased:
            sealed = None
        tx.put(_SQL["tell"], delivery_id, int(note.tried), sealed)

    async def read(
        self, db: Reads, person_id: str, story: bytes | None, *, delivery_id: str
    ) -> tuple[DeliveryNote, ...]:
        """Return the notes of a delivery; none if the person was erased."""
        if story is None:
            return ()
        try:
            place = story_place(delivery_id)
            content = await self._engine.sealer.open(db, person_id, story, place=place)
        except StoreError as error:
            _log.error("story_does_not_open", person=person_id, problem=str(error))
            return ()
        return () if content is None else _decode(content)
