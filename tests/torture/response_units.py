"""The units of stored responses, for `store_kills`."""

from collections.abc import Awaitable, Callable

from hermes.ports.responses import NewResponse, ResponseOwner
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock

TABLES = {
    "response_chains": "*",
    "stored_responses": "id, root, previous, depth, size, context_size, at",
}
_DAY_S = 86_400.0


async def prepare_responses(store: Store, clock: ManualClock) -> None:
    """Store a conversation of two responses, and one beside it, for the key `k_ann`."""
    for name, previous in (("resp_1", None), ("resp_2", "resp_1"), ("resp_3", None)):
        await _put_one(store, clock, name=name, previous=previous, keep=10)


async def _put_one(
    store: Store, clock: ManualClock, *, name: str, previous: str | None, keep: int
) -> None:
    now = clock.now()
    new = NewResponse(
        id=name,
        owner=await _owner(store),
        items=b"[]",
        answer=b"{}",
        at=now,
        expires_at=now + _DAY_S,
        previous=previous,
    )
    await store.responses.put(new, keep=keep, keep_bytes=1_000)


async def _owner(store: Store) -> ResponseOwner:
    key = await store.keys.get("k_ann")
    assert key is not None
    return ResponseOwner(key.id, key.person_id)


async def _put(store: Store, clock: ManualClock) -> None:
    owner = await _owner(store)
    if await store.responses.get("resp_4", owner=owner, now=clock.now()) is None:
        await _put_one(store, clock, name="resp_4", previous="resp_2", keep=3)


async def _delete(store: Store, clock: ManualClock) -> None:
    await store.responses.delete("resp_1", owner=await _owner(store), now=clock.now())


async def _forget(store: Store, clock: ManualClock) -> None:
    await store.responses.forget(before=clock.now() + 2 * _DAY_S)


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.put_response": _put,
    "store.delete_response": _delete,
    "store.forget_responses": _forget,
}
