"""One id for a person whom a platform names by several: a number, an id of its own, an earlier number.

The id that came first stays that of the person's chat and sessions. A number may pass to somebody else without
a word; an id that the platform gives to nobody else (`own`) decides once it is known. Which ids belong
together is kept over restarts, before the message that says so is. Neither the keys nor the values name
anybody: what is kept can be read only by who has one of the ids, so nothing is left of an erased person but that.
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
        self._own = KeptMap(state, "own/", most=most, hides_names=True)
        # When ids passed to who has them now; those that never did are not here.
        self._since = KeptMap(state, "since/", most=most, hides_names=True)

    async def of(self, ids: Sequence[str], *, own: str | None = None, at: float = 0.0) -> str:
        """Return the one id of the person who has all of these; remember that they have them.

        `own` is the one of them that is given to nobody else, `at` when they were seen together: an id
        of somebody with another own id passes to the person, unless it has passed on since.
        """
        if own is None:
            return await self._of_shared(ids)
        known = await self._get(self._first, own)
        others = [one for one in ids if one != own]
        person = known or await self._person_with(others, own) or own
        # Found by its own id only once all else is stored: killed in between, the same message does it again.
        await self._put(self._own, person, own)
        for one in others:
            await self._pass_on(one, person, at=at)
        if known is None:
            await self._put(self._first, own, person)
        return person

    async def give(self, one: str, person: str, *, is_own: bool = False) -> None:
        """Take the platform's word that an id is that of a person from now on, whoever had it before."""
        if is_own:
            await self._put(self._own, person, one)
        await self._put(self._first, one, person)

    async def holder(self, one: str) -> str | None:
        """Return the one id of the person who has this one now; None if nobody is known to."""
        return await self._get(self._first, one)

    async def own_of(self, person: str) -> str | None:
        """Return the id of a person that is given to nobody else, if it is known."""
        return await self._get(self._own, person)

    async def _of_shared(self, ids: Sequence[str]) -> str:
        known = {one: await self._get(self._first, one) for one in ids}
        first = next((found for found in known.values() if found), ids[0])
        for one, found in known.items():
            if found is None:
                await self._put(self._first, one, first)
        return first

    async def _person_with(self, others: Sequence[str], own: str) -> str | None:
        """Return who has one of these and no own id but this; the first of them if nobody has any."""
        known = {one: await self._get(self._first, one) for one in others}
        for found in filter(None, known.values()):
            if await self._get(self._own, found) in (None, own):
                return found
        return next((one for one, found in known.items() if found is None), None)

    async def _pass_on(self, one: str, person: str, *, at: float) -> None:
        found = await self._get(self._first, one)
        if found == person:
            return
        if found is not None:
            if at < float(await self._since.get(one) or 0):
                # A message of who had it before, told late.
                return
            await self._since.put(one, repr(at))
        await self._put(self._first, one, person)

    async def _put(self, ids: KeptMap, one: str, person: str) -> None:
        if await self._get(ids, one) != person:
            await ids.put(one, self._cipher(one).encrypt(person.encode()).decode())

    async def _get(self, ids: KeptMap, one: str) -> str | None:
        found = await ids.get(one)
        return None if found is None else self._cipher(one).decrypt(found.encode()).decode()

    def _cipher(self, one: str) -> Fernet:
        key = hashlib.sha256(self._state.mark(f"first of {one}").encode()).digest()
        return Fernet(base64.urlsafe_b64encode(key))
