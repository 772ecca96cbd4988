"""The state of channels in memory, for a connection that is only tried out, and for tests."""

import hashlib
import os

import msgspec

from hermes.errors import GuardFailed


class _Value(msgspec.Struct, frozen=True):
    content: bytes
    fence: int | None
    number: int


class MemoryChannelState:
    """Fits `ports.channel_state.ChannelState`; nothing survives the object."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str], _Value] = {}
        self._writes = 0
        self._digest_key = os.urandom(32)

    async def get(self, platform: str, key: str) -> bytes | None:
        """Return a value, or None if there is none."""
        found = self._values.get((platform, key))
        return None if found is None else found.content

    async def put(self, platform: str, key: str, *, value: bytes, fence: int | None = None) -> None:
        """Store a value in place of the one before."""
        before = self._guarded(platform, key, fence)
        kept = before.fence if fence is None and before is not None else fence
        self._writes += 1
        self._values[platform, key] = _Value(value, kept, self._writes)

    async def drop(self, platform: str, key: str, *, fence: int | None = None) -> None:
        """Delete a value and its fence, if there is one."""
        self._guarded(platform, key, fence)
        self._values.pop((platform, key), None)

    async def trim(self, platform: str, prefix: str, *, keep: int) -> int:
        """Delete all but the `keep` values written last whose key begins so; return how many."""
        named = [one for one in self._values if one[0] == platform and one[1].startswith(prefix)]
        named.sort(key=lambda one: self._values[one].number, reverse=True)
        for one in named[keep:]:
            del self._values[one]
        return len(named[keep:])

    def digest(self, content: bytes) -> bytes:
        """Return a keyed digest, the same for as long as the object lives."""
        return hashlib.blake2b(content, key=self._digest_key, digest_size=20).digest()

    def _guarded(self, platform: str, key: str, fence: int | None) -> _Value | None:
        before = self._values.get((platform, key))
        known = None if before is None else before.fence
        if known is not None and fence is not None and fence < known:
            raise GuardFailed(f"the state {key!r} of {platform} was written under a later claim")
        return before
