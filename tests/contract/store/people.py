"""Somebody to keep things for."""

import hashlib

from hermes.ports.keys import CallerKey
from hermes.ports.store import Store


async def person(store: Store, user: str = "ann") -> str:
    """Return the id of a new person, who needs a data key to be remembered anything."""
    key = CallerKey(id=f"k_{user}", label="", user=user, person_id="", hint="", created_at=1.0)
    digest = hashlib.sha256(user.encode()).digest()
    return (await store.keys.add(key, digest=digest, user=user)).person_id
