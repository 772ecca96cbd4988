"""The feed of rare changes: what caches of every process on the store have to hear of."""

from collections.abc import Callable
from typing import Literal, Protocol

# What changed; the key says whose: a person, a platform, or nothing in particular.
ChangeKind = Literal[
    "access",
    "agents",
    "blocks",
    "dreams",
    "erasure",
    "facts",
    "keys",
    "kill_switch",
    "pauses",
    "people",
    "secrets",
    "swap",
]


class ChangeFeed(Protocol):
    """Tells listeners of this process what changed, here or in another process on the store."""

    @property
    def stamp(self) -> int:
        """A number that changes with every change that was heard.

        Whoever reads something to cache it compares this before and after: what was read while it
        changed is not cached.
        """
        ...

    def on(self, kind: ChangeKind, heard: Callable[[str], None]) -> None:
        """Call `heard` with the key of every change of this kind, once it is on disk."""
        ...

    async def catch_up(self) -> int:
        """Hear what other processes have changed since the last time; return how much it was."""
        ...
