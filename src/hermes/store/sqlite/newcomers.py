"""Who writes for the first time: their person, data key and channel, inside the unit at hand.

Accepted messages and keys of callers come through here, so both know the same people.
"""

from hermes.message.ids import MakeId
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.seal import Sealer

_SQL = load("people")


def find_or_add_person(
    db: Database, platform: str, user_id: str, *, sealer: Sealer, make_id: MakeId, at: float
) -> str:
    """Return the id of the person behind a platform's user id, made if unknown."""
    row = db.row(_SQL["find"], (platform, user_id))
    if row is not None:
        return str(row[0])
    person_id = make_id("p")
    db.execute(_SQL["add_person"], (person_id, at))
    db.execute(_SQL["add_channel"], (platform, user_id, person_id))
    sealer.make_key(db, person_id)
    return person_id
