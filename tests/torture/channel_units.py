"""The units of what channels remember, for `store_kills`."""

from collections.abc import Awaitable, Callable

from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock

TABLES = {"channel_state": "platform, key, fence, at"}


async def prepare_state(store: Store, clock: ManualClock) -> None:
    """Let a channel remember a place, and two files."""
    for key in ("place", "file/1", "file/2"):
        await store.channel_state.put("matrix", key, value=b"x", fence=1)


async def _put(store: Store, clock: ManualClock) -> None:
    await store.channel_state.put("matrix", "place", value=b"y", fence=2)


async def _drop(store: Store, clock: ManualClock) -> None:
    await store.channel_state.drop("matrix", "place")


async def _trim(store: Store, clock: ManualClock) -> None:
    await store.channel_state.trim("matrix", "file/", keep=1)


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.put_channel_state": _put,
    "store.drop_channel_state": _drop,
    "store.trim_channel_state": _trim,
}
