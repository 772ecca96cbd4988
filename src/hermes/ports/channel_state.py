"""What a channel must remember over a restart: its place in a stream, the files that it uploaded.

Between a channel and the store. The store keeps values by platform and key; a channel is given the
values of its own platform.
"""

from typing import Protocol


class ChannelState(Protocol):
    """Values of channels by platform and key; each write is durable when it returns.

    Values are encrypted at rest. Platforms and keys are not: a key may hold the platform's ids, but
    no name, no address, no telephone number and nothing that anybody wrote. What a person is known
    by goes into a key as a digest.

    A `fence` is that of the writer's claim on the channel. A write with a smaller fence than that of
    the stored value raises `GuardFailed`: another holder of the claim has written since. A write
    without a fence is always taken and leaves the stored fence as it is.
    """

    async def get(self, platform: str, key: str) -> bytes | None:
        """Return a value, or None if there is none."""
        ...

    async def put(self, platform: str, key: str, *, value: bytes, fence: int | None = None) -> None:
        """Store a value in place of the one before."""
        ...

    async def drop(self, platform: str, key: str, *, fence: int | None = None) -> None:
        """Delete a value and its fence, if there is one."""
        ...

    async def trim(self, platform: str, prefix: str, *, keep: int) -> int:
        """Delete all but the `keep` values written last whose key begins so; return how many."""
        ...

    def digest(self, content: bytes) -> bytes:
        """Return a keyed digest, the same after a restart; without the store's key it tells nothing."""
        ...


class PlatformState:
    """The values of one platform, as its channel is given them."""

    def __init__(self, store: ChannelState, platform: str) -> None:
        self._store = store
        self._platform = platform

    async def get(self, key: str) -> bytes | None:
        """Return a value, or None if there is none."""
        return await self._store.get(self._platform, key)

    async def put(self, key: str, value: bytes) -> None:
        """Store a value in place of the one before; it is durable when this returns."""
        await self._store.put(self._platform, key, value=value)

    async def drop(self, key: str) -> None:
        """Delete a value, if there is one."""
        await self._store.drop(self._platform, key)

    async def trim(self, prefix: str, *, keep: int) -> int:
        """Delete all but the `keep` values written last whose key begins so; return how many."""
        return await self._store.trim(self._platform, prefix, keep=keep)

    def mark(self, name: str) -> str:
        """Return what stands for a name in a key: found again by who has the name, and naming nobody."""
        return self._store.digest(f"{self._platform}\0{name}".encode("utf-8", "replace")).hex()
