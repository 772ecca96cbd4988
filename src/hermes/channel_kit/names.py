"""The names of people and chats: asked for once in a while, and never waited for long.

A message must not wait for the name of who wrote it: a name that does not come in time is left out,
and an old one is better than none.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from hermes.channel_kit.bounded_map import BoundedMap
from hermes.errors import HermesError
from hermes.ports.clock import Clock

_MOST: Final = 10_000
_KEPT_S: Final = 3600.0
# After a failure a name is not asked for again for so long: it delays one message, not all.
_FAILED_S: Final = 60.0
_WAIT_S: Final = 1.0
# More are not asked for at once, and stay without a name this time.
_MOST_AT_ONCE: Final = 200


class Names:
    """Names by id; `look_up` asks the platform for one and returns None if it has none."""

    def __init__(
        self,
        look_up: Callable[[str], Awaitable[str | None]],
        *,
        clock: Clock,
        most: int = _MOST,
        wait_s: float = _WAIT_S,
    ) -> None:
        self._look_up = look_up
        self._wait_s = wait_s
        self._known: BoundedMap[str, str | None] = BoundedMap(most, lasts_s=_KEPT_S, clock=clock)

    async def of(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the names that are known, or that come in time."""
        wanted = tuple(dict.fromkeys(ids))
        missing = [one for one in wanted if one not in self._known]
        await asyncio.gather(*(self._ask(one) for one in missing[:_MOST_AT_ONCE]))
        found = ((one, self._known.last(one)) for one in wanted)
        return {one: name for one, name in found if name}

    def put(self, name_of: str, name: str) -> None:
        """Remember a name that came with a message."""
        self._known.put(name_of, name)

    async def _ask(self, one: str) -> None:
        try:
            async with asyncio.timeout(self._wait_s):
                name = await self._look_up(one)
        except (HermesError, TimeoutError):
            self._known.put(one, self._known.last(one), lasts_s=_FAILED_S)
        else:
            self._known.put(one, name)
