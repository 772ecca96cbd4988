"""Caches what a prompt always says about a person, for an hour or so, or until a fact changes.

The storage is behind `SoulBackend`; an in-memory one is shipped. A drop that fails is retried; if
it keeps failing, a warning says how long the old prompt may still be used.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import structlog

from hermes.errors import HermesError
from hermes.memory.soul import person_blocks
from hermes.memory.structural import BUILT_IN, FactKeys
from hermes.ports.clock import Clock
from hermes.ports.memory import FactStore

TTL_S = 3_600.0
# Three tries, with these pauses between them.
PAUSES_S = (0.5, 1.0)
_MOST_PEOPLE = 200
_log = structlog.get_logger(__name__)

Blocks = tuple[str, ...]
Alert = Callable[[str, float], None]


class SoulBackend(Protocol):
    """Where people's blocks are cached; raises a `HermesError` if it cannot be reached."""

    async def get(self, person_id: str) -> Blocks | None:
        """Return the blocks, unless they are too old."""
        ...

    async def put(self, person_id: str, blocks: Blocks, *, ttl_s: float) -> None:
        """Store the blocks for a time."""
        ...

    async def drop(self, person_id: str) -> None:
        """Delete the blocks of a person."""
        ...


class MemorySouls:
    """Implements `SoulBackend` in this process, for the people whose sessions began last."""

    def __init__(self, clock: Clock, most: int = _MOST_PEOPLE) -> None:
        self._clock = clock
        self._most = most
        self._people: OrderedDict[str, tuple[float, Blocks]] = OrderedDict()

    async def get(self, person_id: str) -> Blocks | None:
        """Return the blocks, unless they are too old."""
        known = self._people.get(person_id)
        return known[1] if known is not None and known[0] > self._clock.monotonic() else None

    async def put(self, person_id: str, blocks: Blocks, *, ttl_s: float) -> None:
        """Store the blocks for a time."""
        self._people[person_id] = (self._clock.monotonic() + ttl_s, blocks)
        self._people.move_to_end(person_id)
        if len(self._people) > self._most:
            self._people.popitem(last=False)

    async def drop(self, person_id: str) -> None:
        """Delete the blocks of a person."""
        self._people.pop(person_id, None)


def tell_log(person_id: str, exposure_s: float) -> None:
    """Log that an old prompt may be used for a while."""
    _log.error("soul_invalidation_failed", person_id=person_id, exposure_s=exposure_s)


class SoulCache:
    """Builds the blocks of people and caches them."""

    def __init__(
        self,
        facts: FactStore,
        backend: SoulBackend,
        *,
        sleep: Callable[[float], Awaitable[None]],
        alert: Alert = tell_log,
        ttl_s: float = TTL_S,
        pauses_s: Sequence[float] = PAUSES_S,
        keys: FactKeys = BUILT_IN,
    ) -> None:
        self._keys = keys
        self._ttl_s = ttl_s
        self._pauses_s = pauses_s
        self._facts = facts
        self._backend = backend
        self._sleep = sleep
        self._alert = alert
        self._dropped = 0

    async def of(self, person_id: str) -> Blocks:
        """Return what every agent is told about a person."""
        try:
            known = await self._backend.get(person_id)
        except HermesError as error:
            _log.warning("soul_cache_failed", problem=str(error))
            return person_blocks(await self._facts.of(person_id), self._keys)
        if known is not None:
            return known
        before = self._dropped
        blocks = person_blocks(await self._facts.of(person_id), self._keys)
        try:
            await self._backend.put(person_id, blocks, ttl_s=self._ttl_s)
            if before != self._dropped:
                # A fact changed while this was being built: it may have come after the drop.
                await self._backend.drop(person_id)
        except HermesError as error:
            _log.warning("soul_cache_failed", problem=str(error))
        return blocks

    async def invalidate(self, person_id: str) -> None:
        """Drop a person's blocks after a change; some tries, then a warning."""
        self._dropped += 1
        for pause in (*self._pauses_s, None):
            try:
                await self._backend.drop(person_id)
            except HermesError as error:
                _log.warning("soul_invalidation", person_id=person_id, problem=str(error))
                if pause is None:
                    self._alert(person_id, self._ttl_s)
                else:
                    await self._sleep(pause)
            else:
                return
