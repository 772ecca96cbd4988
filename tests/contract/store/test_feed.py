"""What one process changes, the caches of another one on the same store hear of.

Two stores on one file stand for two processes; SQLite alone never has them.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.ports.memory import Fact, FactChange
from hermes.ports.spend import KillSwitch
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.engine import Options
from tests.stores.opening import open_store, tables
from tests.torture.store_rig import accept, begin, ending

Pair = tuple[Store, Store]
CLOCK = ManualClock()
SHARED = Options(alone=False)


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    first = await open_store(tmp_path, clock=CLOCK, options=SHARED)
    await accept(first, "one", clock=CLOCK)
    lease, message = await begin(first, "ann", clock=CLOCK)
    await first.turns.commit(lease, ending(message, clock=CLOCK, text="said"))
    second = await open_store(tmp_path, clock=CLOCK, options=SHARED)
    yield first, second
    await first.close()
    await second.close()


async def ann(store: Store) -> str:
    person = await store.people.find("rest", "ann")
    assert person is not None
    return person.id


@pytest.mark.req("A22")
async def test_a_revoked_token_and_the_kill_switch_are_heard_of(pair: Pair) -> None:
    here, there = pair
    await here.access.add("token", b"d" * 20, label="l", expires_at=None)
    await there.feed.catch_up()
    (token,) = await there.access.list("token")
    before = (
        await there.access.check("token", b"d" * 20, now=1.0),
        (await there.spend.kill_switch()).is_on,
    )

    await here.access.revoke(token.id)
    await here.spend.set_kill_switch(KillSwitch(is_on=True, by="olga", at=1.0))
    stale = await there.access.check("token", b"d" * 20, now=1.0)
    heard = await there.feed.catch_up()
    after = (
        await there.access.check("token", b"d" * 20, now=1.0),
        (await there.spend.kill_switch()).is_on,
    )

    assert (before, stale, heard, after) == ((True, False), True, 2, (False, True))


@pytest.mark.req("J24")
async def test_an_erasure_elsewhere_leaves_nothing_readable_here(pair: Pair) -> None:
    here, there = pair
    person = await ann(there)
    before = await there.transcripts.history("ann", epoch=0, head=1)
    tea = Fact(
        id="f",
        person_id=person,
        key="drink",
        value="tea",
        source="m_one",
        at=1.0,
        updated_at=1.0,
    )
    await here.facts.change(person, lambda _: FactChange(put=(tea,)))
    await there.feed.catch_up()
    known = await there.facts.of(person)

    await here.people.erase(person, at=2.0)
    await there.feed.catch_up()

    assert ([one.text for one in before.messages], [one.value for one in known]) == (
        ["said"],
        ["tea"],
    )
    after = await there.transcripts.history("ann", epoch=0, head=1)
    assert (after.messages, await there.facts.of(person)) == ((), ())
    erased = await there.people.get(person)
    assert erased is not None
    assert erased.is_erased


@pytest.mark.req("A5")
async def test_a_block_and_a_tier_set_elsewhere_count_here(pair: Pair) -> None:
    here, there = pair
    person = await ann(there)
    assert not await there.users.is_anybody_blocked()
    assert (await there.people.get(person)) is not None

    await here.users.set_blocked(person, blocked=True, at=1.0)
    await here.users.set_tier(person, "gold")
    await there.feed.catch_up()

    assert await there.users.is_anybody_blocked()
    known = await there.people.get(person)
    assert known is not None
    assert known.tier == "gold"


async def test_a_process_that_is_alone_writes_no_feed(tmp_path: Path) -> None:
    store = await open_store(tmp_path, clock=CLOCK)
    heard: list[str] = []
    store.feed.on("kill_switch", heard.append)

    await store.spend.set_kill_switch(KillSwitch(is_on=True, by="olga", at=1.0))

    assert (heard, await store.feed.catch_up()) == ([""], 0)
    await store.close()
    with tables(tmp_path) as db:
        assert db.rows("SELECT kind FROM feed") == []
