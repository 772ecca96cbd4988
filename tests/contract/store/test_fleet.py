"""Several nodes on one store: who is alive, who takes over, and that the dead write nothing.

Two stores on one file are two nodes here. SQLite alone never has them; what is shared with other
engines is the SQL.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.errors import GuardFailed, LeaseLost
from hermes.message.outcome import DeliveryState
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import StepWrite
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.engine import Options
from tests.stores.opening import deliveries_of, open_store
from tests.torture.store_rig import Ids, accept, begin, ending

LEASE_S = 10.0
TARGET = Target(platform="push", account="a", chat_id="c")


class Nodes:
    """A file, and the nodes that were opened on it."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.folder = folder
        self.opened: list[Store] = []

    async def join(self, name: str, *, alone: bool = False) -> Store:
        store = await self.open(alone=alone)
        await store.fleet.join(name)
        return store

    async def open(self, *, alone: bool = False) -> Store:
        options = Options(alone=alone, lease_s=LEASE_S)
        store = await open_store(self.folder, clock=self.clock, make_id=Ids(), options=options)
        self.opened.append(store)
        return store


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    for store in made.opened:
        await store.close()


async def send(store: Store, nodes: Nodes, name: str) -> str:
    """Bring a reply onto the wire; return its id."""
    await accept(store, name, user=name, clock=nodes.clock)
    lease, message = await begin(store, name, clock=nodes.clock, owner=store.fleet.node)
    await store.turns.commit(lease, ending(message, clock=nodes.clock, platform="push"))
    await store.outbox.sending(f"o_{name}", chunk=0, at=nodes.clock.now())
    return f"o_{name}"


@pytest.mark.req("J4")
async def test_a_node_is_alive_until_the_stores_clock_says_otherwise(nodes: Nodes) -> None:
    first = await nodes.join("n_1")
    second = await nodes.join("n_2")

    nodes.clock.advance(LEASE_S - 1)
    before = await second.fleet.silent()
    await second.fleet.beat()
    nodes.clock.advance(1)

    assert before == ()
    assert await second.fleet.silent() == ("n_1",)
    assert await first.fleet.silent() == ()


@pytest.mark.req("J4")
async def test_a_node_that_reports_is_not_buried(nodes: Nodes) -> None:
    first = await nodes.join("n_1")
    second = await nodes.join("n_2")
    nodes.clock.advance(LEASE_S - 1)
    await first.fleet.beat()
    nodes.clock.advance(LEASE_S - 1)

    with pytest.raises(GuardFailed):
        await second.fleet.bury("n_1")

    await first.fleet.beat()


@pytest.mark.req("J4", "J8", "J16")
async def test_a_buried_node_can_write_nothing_any_more(nodes: Nodes) -> None:
    frozen = await nodes.join("n_frozen")
    await accept(frozen, "one", clock=nodes.clock)
    lost, message = await begin(frozen, "ann", clock=nodes.clock, owner="n_frozen")
    awake = await nodes.join("n_awake")
    nodes.clock.advance(LEASE_S)
    await awake.fleet.beat()

    assert await awake.fleet.bury("n_frozen") == ("ann",)

    write = StepWrite(message_id=message.id, person_id=message.person_id)
    preview = NewDelivery(id="o_one", target=TARGET, parts=None, state=DeliveryState.PREVIEW)
    with pytest.raises(LeaseLost):
        await frozen.turns.step(lost, write)
    with pytest.raises(LeaseLost):
        await frozen.outbox.open_preview(
            lost, preview, message_id=message.id, person_id=message.person_id
        )
    with pytest.raises(LeaseLost):
        await frozen.turns.commit(lost, ending(message, clock=nodes.clock, text="too late"))
    with pytest.raises(LeaseLost):
        await begin(frozen, "ann", clock=nodes.clock, owner="n_frozen")
    with pytest.raises(LeaseLost, match="others have taken over"):
        await frozen.fleet.beat()
    assert await frozen.fleet.claim("leader") is None
    held, _ = await begin(awake, "ann", clock=nodes.clock, owner="n_awake")
    await awake.turns.commit(held, ending(message, clock=nodes.clock, text="from the living"))
    result = await awake.inbox.result(message.id)
    assert result is not None
    assert result.text == "from the living"


@pytest.mark.req("J4", "J17")
async def test_only_what_the_dead_node_had_on_the_wire_is_unknown(nodes: Nodes) -> None:
    dead = await nodes.join("n_dead")
    theirs = await send(dead, nodes, "one")
    alive = await nodes.join("n_alive")
    ours = await send(alive, nodes, "two")
    nodes.clock.advance(LEASE_S)
    await alive.fleet.beat()

    await alive.fleet.bury("n_dead")

    found = [(await deliveries_of(alive, name))[0].state for name in ("m_one", "m_two")]
    assert (theirs, ours) == ("o_one", "o_two")
    assert found == [DeliveryState.UNKNOWN, DeliveryState.SENDING]
    with pytest.raises(GuardFailed):
        await dead.outbox.sending(theirs, chunk=0, at=nodes.clock.now())


@pytest.mark.req("J4")
async def test_what_one_node_does_alone_passes_on_with_a_higher_fence(nodes: Nodes) -> None:
    first = await nodes.join("n_1")
    second = await nodes.join("n_2")

    fences = [await first.fleet.claim("leader"), await second.fleet.claim("leader")]
    kept = await first.fleet.claim("leader")
    nodes.clock.advance(LEASE_S)
    await second.fleet.beat()
    await second.fleet.bury("n_1")
    taken = await second.fleet.claim("leader")
    given_back = [await second.fleet.release("leader"), await second.fleet.release("leader")]

    assert fences == [1, None]
    assert kept == 1
    assert taken is not None
    assert taken > kept
    assert given_back == [True, False]


@pytest.mark.req("J4")
async def test_two_nodes_bury_a_third_once(nodes: Nodes) -> None:
    await nodes.join("n_dead")
    first, second = await nodes.join("n_1"), await nodes.join("n_2")
    nodes.clock.advance(LEASE_S)
    await first.fleet.beat()
    await second.fleet.beat()

    await first.fleet.bury("n_dead")

    with pytest.raises(GuardFailed):
        await second.fleet.bury("n_dead")


@pytest.mark.req("J4")
async def test_a_process_that_is_alone_buries_all_others_when_it_joins(nodes: Nodes) -> None:
    dead = await nodes.join("n_dead", alone=True)
    await accept(dead, "one", clock=nodes.clock)
    lost, message = await begin(dead, "ann", clock=nodes.clock, owner="n_dead")

    alone = await nodes.open(alone=True)
    cut_off = await alone.fleet.join("n_next")

    assert cut_off == ("ann",)
    assert (await alone.turns.view("ann")).restarts == 1
    await alone.fleet.beat()
    with pytest.raises(LeaseLost):
        await dead.turns.commit(lost, ending(message, clock=nodes.clock, text="too late"))


@pytest.mark.req("J4")
async def test_another_process_that_is_not_silent_is_left_alone_by_one_that_joins(
    nodes: Nodes,
) -> None:
    living = await nodes.join("n_living")
    await accept(living, "one", clock=nodes.clock)
    held, message = await begin(living, "ann", clock=nodes.clock, owner="n_living")

    other = await nodes.open()
    cut_off = await other.fleet.join("n_other")

    assert cut_off == ()
    await living.turns.commit(held, ending(message, clock=nodes.clock, text="here I am"))
