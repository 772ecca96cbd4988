"""A map that survives a restart and never grows past a bound: the newest entries stay."""

from typing import Final

from hermes.ports.channel_state import PlatformState

# Trimming reads the whole map; it is done once for so many parts of the bound.
_PARTS: Final = 10


class KeptMap:
    """Texts by name, in the state of a channel under one prefix.

    It holds the `most` entries that were written last, and for a while up to a tenth more. Names by
    which people are known are kept as digests with `hides_names`: they outlive an erased person.
    """

    def __init__(
        self, state: PlatformState, prefix: str, *, most: int, hides_names: bool = False
    ) -> None:
        self._state = state
        self._prefix = prefix
        self._most = most
        self._hides_names = hides_names
        self._trim_every = max(1, most // _PARTS)
        self._written = 0

    async def get(self, name: str) -> str | None:
        """Return the text of a name, or None if there is none."""
        found = await self._state.get(self._key(name))
        return None if found is None else found.decode()

    async def put(self, name: str, text: str) -> None:
        """Store the text of a name; it is durable when this returns."""
        await self._state.put(self._key(name), text.encode())
        # Also after the first write: a process may always end before it has made many.
        if self._written % self._trim_every == 0:
            await self._state.trim(self._prefix, keep=self._most)
        self._written += 1

    def _key(self, name: str) -> str:
        return self._prefix + (self._state.mark(name) if self._hides_names else name)
