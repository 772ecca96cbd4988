"""The units of tasks over A2A, for `store_kills`: stopping a message, and where to notify of it."""

from collections.abc import Awaitable, Callable

from hermes.message.outcome import MessageState, Outcome
from hermes.ports.store import Store
from hermes.ports.tasks import DuePush, TaskPush
from hermes.testing.manual_time import ManualClock

TABLES = {"task_pushes": "task_id, id, told, attempts, due_at, ended_at"}
_NAMES = ("taken", "told", "failed", "dropped")


def _push(name: str) -> TaskPush:
    return TaskPush(task_id="m_t", id=name, url="https://a.example/told", version="1.0", token="t")


def _due(name: str) -> DuePush:
    return DuePush(
        push=_push(name),
        state=MessageState.DONE,
        outcome=Outcome.ANSWERED,
        news="answered",
        attempts=0,
    )


async def prepare_pushes(store: Store, clock: ManualClock) -> None:
    """Keep the places of a task."""
    for name in _NAMES:
        await _keep(store, name)
    for name in ("told", "failed"):
        await store.tasks.begin_push(_due(name), until=9.0)


async def _keep(store: Store, name: str) -> None:
    await store.tasks.put_push(
        _push(name), person_id=await _person(store), at=1.0, most=9, most_open=9
    )


async def _person(store: Store) -> str:
    (lane,) = [name for name in await store.turns.lanes_with_work() if "ann" in name][:1]
    view = await store.turns.view(lane)
    assert view.message is not None
    return view.message.person_id


async def _put(store: Store, clock: ManualClock) -> None:
    await _keep(store, "new")


async def _drop(store: Store, clock: ManualClock) -> None:
    await store.tasks.drop_push("m_t", "dropped")


async def _begin(store: Store, clock: ManualClock) -> None:
    await store.tasks.begin_push(_due("taken"), until=9.0)


async def _end(store: Store, clock: ManualClock) -> None:
    await store.tasks.end_push(_due("told"), is_last=True, at=2.0)


async def _retry(store: Store, clock: ManualClock) -> None:
    await store.tasks.retry_push(_due("failed"), at=8.0)


async def _interrupt(store: Store, clock: ManualClock) -> None:
    (lane,) = [name for name in await store.turns.lanes_with_work() if "ann" in name][:1]
    view = await store.turns.view(lane)
    assert view.message is not None
    await store.turns.interrupt(view.message.id, by="a test")


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.put_push": _put,
    "store.drop_push": _drop,
    "store.begin_push": _begin,
    "store.end_push": _end,
    "store.retry_push": _retry,
    "store.interrupt": _interrupt,
}
