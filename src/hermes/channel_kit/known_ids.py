"""One id for a person whom a platform names by several: a number, an id of its own, an earlier number.

The id that came first stays that of the person's chat and sessions. Which ids belong together is kept
over restarts, before the message that says so is.
"""

from collections.abc import Sequence
from typing import Final

from hermes.channel_kit.kept_map import KeptMap
from hermes.ports.channel_state import PlatformState

_MOST: Final = 200_000


class KnownIds:
    """The ids of the people of one platform."""

    def __init__(self, state: PlatformState, *, most: int = _MOST) -> None:
        self._first = KeptMap(state, "id/", most=most)

    async def of(self, ids: Sequence[str]) -> str:
        """Return the one id of the person who has all of these; remember that they have them."""
        known = {one: await self._first.get(one) for one in ids}
        first = next((found for found in known.values() if found), ids[0])
        for one, found in known.items():
            if found is None:
                await self._first.put(one, first)
        return first

    async def give(self, one: str, person: str) -> None:
        """Take the platform's word that an id is that of a person from now on, whoever had it before."""
        await self._first.put(one, person)
