"""One id for a person whom a platform names by several: a number, an id of its own, an earlier number.

The id that came first stays that of the person's chat and sessions. Which ids belong together is kept
over restarts, before the message that says so is. Neither the keys nor the values name anybody: what
is kept can be read only by who has one of the ids, so nothing is left of an erased person but that.
"""

import base64
import hashlib
from collections.abc import Sequence
from typing import Final

from cryptography.fernet import Fernet

from hermes.channel_kit.kept_map import KeptMap
from hermes.ports.channel_state import PlatformState

_MOST: Final = 200_000


class KnownIds:
    """The ids of the people of one platform."""

    def __init__(self, state: PlatformState, *, most: int = _MOST) -> None:
        self._state = state
        self._first = KeptMap(state, "id/", most=most, hides_names=True)

    async def of(self, ids: Sequence[str]) -> str:
        """Return the one id of the person who has all of these; remember that they have them."""
        known = {one: await self._get(one) for one in ids}
        first = next((found for found in known.values() if found), ids[0])
        for one, found in known.items():
            if found is None:
                await self._keep(one, first)
        return first

    async def give(self, one: str, person: str) -> None:
        """Take the platform's word that an id is that of a person from now on, whoever had it before."""
        await self._keep(one, person)

    async def _keep(self, one: str, person: str) -> None:
        await self._first.put(one, self._cipher(one).encrypt(person.encode()).decode())

    async def _get(self, one: str) -> str | None:
        found = await self._first.get(one)
        return None if found is None else self._cipher(one).decrypt(found.encode()).decode()

    def _cipher(self, one: str) -> Fernet:
        key = hashlib.sha256(self._state.mark(f"first of {one}").encode()).digest()
        return Fernet(base64.urlsafe_b64encode(key))
