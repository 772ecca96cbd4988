"""The units of nodes and claims, for `store_kills`."""

import contextlib
from collections.abc import Awaitable, Callable

from hermes.errors import GuardFailed
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import as_node
from tests.torture.store_rig import accept, begin

TABLES = {
    "nodes": "id, expires, buried_at",
    "claims": "name, node, fence",
}
_DEAD, _HERE = "n_dead", "n_here"
# Longer than anything that was prepared.
_YEARS_S = 10 * 365 * 86_400.0


async def prepare_nodes(store: Store, clock: ManualClock) -> None:
    """Let a node that will be dead hold a lane, and another one hold a claim."""
    await store.fleet.join(_DEAD)
    await accept(store, "theirs", user="held", clock=clock)
    await begin(store, "held", clock=clock, owner=_DEAD)
    await store.fleet.join(_HERE)
    await store.fleet.claim("leader")


async def _beat(store: Store, clock: ManualClock) -> None:
    as_node(store, _HERE)
    clock.advance(1.0)
    await store.fleet.beat()


async def _bury(store: Store, clock: ManualClock) -> None:
    as_node(store, _HERE)
    clock.advance(_YEARS_S)
    # Done again after a kill, it is buried already.
    with contextlib.suppress(GuardFailed):
        await store.fleet.bury(_DEAD)


async def _claim(store: Store, clock: ManualClock) -> None:
    as_node(store, _HERE)
    await store.fleet.claim("channel:telegram")


async def _release(store: Store, clock: ManualClock) -> None:
    as_node(store, _HERE)
    await store.fleet.release("leader")


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.beat": _beat,
    "store.bury": _bury,
    "store.claim": _claim,
    "store.release_claim": _release,
}
