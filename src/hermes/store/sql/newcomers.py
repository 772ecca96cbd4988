"""Creates new people: their person, data key and channel, inside the current transaction.

Both accepted messages and callers' keys use this, so both know the same people.
"""

from hermes.message.channel_name import platform_of
from hermes.message.ids import MakeId
from hermes.store.sql.places import name_place
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Tx
from hermes.store.sql.wallet import add_wallet

_SQL = load("people")
_LONGEST_NAME = 200


async def find_or_add_person(
    tx: Tx,
    platform: str,
    user_id: str,
    *,
    sealer: Sealer,
    make_id: MakeId,
    at: float,
    name: str | None = None,
    key: str | None = None,
) -> str:
    """Return the person behind a platform's user id, creating it if unknown.

    They are one person on all channels of the platform. `name` is the platform's display name; it is stored to be shown, and identifies nobody. Who is
    unknown and writes with a `key` is the person whose key it is.
    """
    platform = platform_of(platform)
    row = await tx.row(_SQL["find"], platform, user_id)
    if row is None:
        owner = None if key is None else await tx.row(_SQL["owner_of_key"], key)
        known = None
        if owner is None:
            person_id = await add_person(tx, sealer=sealer, make_id=make_id, at=at)
        else:
            person_id = str(owner[0])
        tx.put(_SQL["add_channel"], platform, user_id, person_id, at)
    else:
        person_id, known = str(row[0]), row[1]
    if name:
        content = name[:_LONGEST_NAME].encode(errors="replace")
        digest = sealer.digest(content)
        if digest != known:
            sealed = await sealer.seal(tx, person_id, content, place=name_place(platform, user_id))
            tx.put(_SQL["set_name"], platform, user_id, sealed, digest)
    return person_id


async def add_person(tx: Tx, *, sealer: Sealer, make_id: MakeId, at: float) -> str:
    """Create a person with their data key and wallet, and no channel yet."""
    person_id = make_id("p")
    tx.put(_SQL["add_person"], person_id, at)
    sealer.make_key(tx, person_id)
    await add_wallet(tx, sealer, person_id)
    return person_id
