"""The units of pruning, for `store_kills`: a conversation that ended and is to go."""

from collections.abc import Awaitable, Callable

from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.torture.store_rig import answer

_DAY_S = 86_400.0
_USER = "flo"


async def prepare_old(store: Store, clock: ManualClock) -> None:
    """Let somebody have a conversation that ended; it must not be the newest graph."""
    await answer(store, "ended", user=_USER, clock=clock)
    await store.sessions.end(_USER, epoch=0, reason="idle", at=clock.now())


async def _begin(store: Store, clock: ManualClock) -> None:
    await store.pruning.begin(clock.now(), every_s=_DAY_S)


async def _prune(store: Store, clock: ManualClock) -> None:
    before = clock.now() + _DAY_S
    _, found = await store.pruning.old(before=before, after=0, limit=100)
    # Other units leave conversations that ended, too: one of them goes, in one write.
    for old in found:
        if old.name == f"{_USER}#0":
            await store.pruning.prune(old, before=before)


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.begin_prune": _begin,
    "store.prune_session": _prune,
}
