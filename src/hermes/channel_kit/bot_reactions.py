"""The one reaction that the bot has on a message, where the platform would keep several."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from hermes.channel_kit.bounded_map import BoundedMap
from hermes.ports.channel import ReactionName
from hermes.ports.clock import Clock

_MOST: Final = 10_000
_KEPT_S: Final = 3600.0

# Any: what the platform answers does not matter.
React = Callable[[str], Awaitable[Any]]


class BotReactions:
    """Which reaction each message has; `names` are the platform's, in the order of the states."""

    def __init__(self, names: Mapping[ReactionName, str], *, clock: Clock) -> None:
        self._names = names
        self._last: BoundedMap[str, ReactionName] = BoundedMap(_MOST, lasts_s=_KEPT_S, clock=clock)

    async def replace(
        self, message_id: str, name: ReactionName, *, put: React, remove: React
    ) -> None:
        """Put a reaction on a message, then remove the one before."""
        before = self._last.get(message_id)
        # After a restart nobody knows which one is there: each that comes earlier may be.
        states = tuple(self._names)
        earlier = states[: states.index(name)] if before is None else (before,)
        await put(self._names[name])
        self._last.put(message_id, name)
        for one in earlier:
            if one != name:
                await remove(self._names[one])
