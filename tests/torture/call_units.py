"""The units about calls of models for `store_kills`: thumbs for them, and tools that none uses any more."""

from collections.abc import Awaitable, Callable

import msgspec

from hermes.message.chat import user_text
from hermes.ports.provider import ToolSpec
from hermes.ports.store import Store
from hermes.ports.transcripts import NewCall
from hermes.testing.manual_time import ManualClock
from tests.torture.store_rig import answer

TABLES = {"feedback": "graph, number, person_id"}
# The units of one act: each begins with what another one has written.
AFTER = {"store.collect_tools": "store.set_aside_tools"}
_DAY_S = 86_400.0
_RATED, _PRUNED = "gil", "hal"


async def prepare_calls(store: Store, clock: ManualClock) -> None:
    """Let one call stand, and another be pruned, whose tools are left over; it must not be the newest."""
    for user in (_PRUNED, _RATED):
        await answer(store, f"by_{user}", user=user, clock=clock, calls=(_call(user, clock),))
    await store.sessions.end(_PRUNED, epoch=0, reason="idle", at=clock.now())
    before = clock.now() + _DAY_S
    _, found = await store.pruning.old(before=before, after=0, limit=100)
    (old,) = (one for one in found if one.name == f"{_PRUNED}#0")
    assert await store.pruning.prune(old, before=before)


def _call(user: str, clock: ManualClock) -> NewCall:
    return NewCall(
        id=f"call_{user}",
        model="m",
        seen=0,
        lead=(user_text("hello"),),
        start=0,
        at=clock.now(),
        tools=(ToolSpec(name=f"tool_{user}", description="", parameters=msgspec.Raw(b"{}")),),
    )


async def _collect(store: Store, clock: ManualClock) -> None:
    await store.pruning.collect()


async def _rate(store: Store, clock: ManualClock) -> None:
    is_kept = await store.transcripts.rate_call(
        f"call_{_RATED}", "down", actor="ann", reason="wrong", at=clock.now()
    )
    assert is_kept


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.set_aside_tools": _collect,
    "store.collect_tools": _collect,
    "store.rate_call": _rate,
}
