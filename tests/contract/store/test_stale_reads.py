"""What was read while it changed is not cached: the next read finds what is on disk."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hermes.ports.keys import CallerKey
from hermes.ports.memory import Fact, FactChange
from hermes.ports.spend import KillSwitch
from hermes.ports.store import Store
from hermes.store.sqlite.tx import SqliteReads
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened
from tests.torture.store_rig import accept

pytestmark = pytest.mark.sqlite_only
CLOCK = ManualClock()
DIGEST = b"d" * 20
Read = Callable[[Store, str], Awaitable[object]]


async def _tier(store: Store, person: str) -> object:
    found = await store.people.get(person)
    return None if found is None else found.tier


async def _facts(store: Store, person: str) -> object:
    return [fact.value for fact in await store.facts.of(person)]


async def _switch(store: Store, _person: str) -> object:
    return (await store.spend.kill_switch()).is_on


async def _blocked(store: Store, _person: str) -> object:
    return await store.users.is_anybody_blocked()


async def _token(store: Store, _person: str) -> object:
    return await store.access.check("token", DIGEST, now=1.0)


async def _key(store: Store, _person: str) -> object:
    found = await store.keys.get("k_1")
    return None if found is None else found.revoked_at


async def change_all(store: Store, person: str) -> None:
    """Change everything that is cached."""
    tea = Fact(id="f", person_id=person, key="k", value="tea", source="m", at=1.0, updated_at=1.0)
    await store.facts.change(person, lambda _: FactChange(put=(tea,)))
    await store.users.set_tier(person, "gold")
    await store.users.set_blocked(person, blocked=True, at=1.0)
    await store.spend.set_kill_switch(KillSwitch(is_on=True))
    await store.access.revoke_all("token")
    await store.keys.revoke("k_1", at=7.0)


@pytest.mark.req("J24", "A21")
@pytest.mark.parametrize(
    ("read", "before", "after"),
    [
        (_tier, "free", "gold"),
        (_facts, [], ["tea"]),
        (_switch, False, True),
        (_blocked, False, True),
        (_token, True, False),
        (_key, None, 7.0),
    ],
)
async def test_a_read_that_was_overtaken_by_a_change_is_not_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Read, before: object, after: object
) -> None:
    async with opened(tmp_path, clock=CLOCK) as store:
        await accept(store, "one", clock=CLOCK)
        found = await store.people.find("rest", "ann")
        assert found is not None
        await store.access.add("token", DIGEST, label="l", expires_at=None)
        key = CallerKey(id="k_1", label="l", user="", person_id="", hint="h", created_at=1.0)
        await store.keys.add(key, digest=b"k" * 20, user="ann")
        # Nothing of the person is cached from now on.
        await store.users.set_tier(found.id, "free")

        with monkeypatch.context() as slowed:
            _overtake(slowed, lambda: change_all(store, found.id))
            old = await read(store, found.id)
        new = await read(store, found.id)

    assert (old, new) == (before, after)


def _overtake(patch: pytest.MonkeyPatch, change: Callable[[], Awaitable[None]]) -> None:
    """Let everything change between the next read of the database and its result."""
    changed: list[bool] = []
    for name in ("row", "rows"):
        method = getattr(SqliteReads, name)

        # Any: whatever a query is bound to and returns.
        async def slow(reads: SqliteReads, *given: Any, method: Any = method) -> Any:
            result = await method(reads, *given)
            if not changed:
                changed.append(True)
                await change()
            return result

        patch.setattr(SqliteReads, name, slow)
