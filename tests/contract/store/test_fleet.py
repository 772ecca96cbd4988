"""Several nodes on one store: who is alive, who takes over, and that the dead write nothing.

Two stores on one file are two nodes here. SQLite alone never has them; what is shared with other
engines is the SQL.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from hermes.errors import GuardFailed, LeaseLost
from hermes.message.outcome import DeliveryState, Outcome
from hermes.ports.approvals import NewApproval
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease, Step, StepState, StepWrite
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.stores.engine import Options
from tests.stores.opening import deliveries_of, open_store, tables
from tests.torture.store_rig import Ids, accept, begin, ending

LEASE_S = 10.0
TARGET = Target(platform="push", account="a", chat_id="c")


class Nodes:
    """A file, and the nodes that were opened on it."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.folder = folder
        self.ids = Ids()
        self.opened: list[Store] = []

    async def join(self, name: str, *, alone: bool = False) -> Store:
        store = await self.open(alone=alone)
        await store.fleet.join(name)
        return store

    async def open(self, *, alone: bool = False) -> Store:
        options = Options(alone=alone, lease_s=LEASE_S)
        store = await open_store(self.folder, clock=self.clock, make_id=self.ids, options=options)
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


def bodies(nodes: Nodes) -> int:
    """Return how many bodies the store has."""
    with tables(nodes.folder, read_only=True) as db:
        return int(db.one("SELECT count(*) FROM blobs"))


async def ask(store: Store, nodes: Nodes, name: str, *, state: StepState) -> Lease:
    """Let a running tool of a new message ask; its step has a state of its own by now."""
    await accept(store, name, user=name, clock=nodes.clock)
    lease, message = await begin(store, name, clock=nodes.clock, owner=store.fleet.node)
    now = nodes.clock.now()
    step = Step(ordinal=1, kind="tool", state="started", name="trip", at=now)
    asked = NewApproval(
        id=f"q_{name}",
        message_id=message.id,
        ordinal=1,
        tool="trip",
        arguments_hash=b"x",
        requester=f"rest:{name}",
        chat_type="dm",
        asked_at=now,
        expires_at=now + 600,
        question=b"Where to?",
    )
    write = StepWrite(message_id=message.id, person_id=message.person_id)
    await store.approvals.ask(
        lease, asked, question=None, write=msgspec.structs.replace(write, started=(step,))
    )
    if state != "started":
        ended = msgspec.structs.replace(step, state=state, body=b"{}")
        await store.turns.step(lease, msgspec.structs.replace(write, ended=(ended,)))
    return lease


@pytest.mark.req("J4", "J9", "W37")
async def test_a_question_passes_on_to_the_node_that_goes_on_with_the_turn(nodes: Nodes) -> None:
    dead = await nodes.join("n_dead")
    lost = await ask(dead, nodes, "one", state="started")
    await ask(dead, nodes, "two", state="done")
    alive = await nodes.join("n_alive")
    await ask(alive, nodes, "three", state="started")
    while_alive = await alive.approvals.left_open()
    nodes.clock.advance(LEASE_S)
    await alive.fleet.beat()

    await alive.fleet.bury("n_dead")

    (left,) = await alive.approvals.left_open()
    assert while_alive == ()
    assert (left.row.id, left.question, left.answer) == ("q_one", b"Where to?", None)
    rows = [await alive.approvals.get(f"q_{name}") for name in ("one", "two", "three")]
    assert [(row.state, row.decided_by) for row in rows if row is not None] == [
        ("waiting", None),
        ("expired", "restart"),
        ("waiting", None),
    ]
    with pytest.raises(LeaseLost):
        await dead.approvals.adopt(lost, "q_one")

    # when the other node runs the call again, the answer is there for it, and for a third one
    held, message = await begin(alive, "one", clock=nodes.clock, owner="n_alive")
    await alive.approvals.adopt(held, "q_one")
    now = nodes.clock.now()
    assert await alive.approvals.left_open() == ()
    assert await alive.approvals.answer("q_one", b"Rome", state="approved", by="m_a", at=now)
    assert not await alive.approvals.answer("q_one", b"Oslo", state="approved", by="m_b", at=now)
    third = await nodes.join("n_third")
    (kept,) = await third.approvals.questions_of(message.id)
    assert (kept.row.state, kept.answer) == ("approved", b"Rome")
    (other,) = await third.approvals.questions_of("m_three")
    assert (other.row.state, other.answer) == ("waiting", None)
    assert await third.approvals.answered_by("m_a") == "approved"
    assert await third.approvals.answered_by("m_b") is None


@pytest.mark.req("J9", "J10", "W37")
async def test_the_end_of_a_resumed_turn_closes_what_was_not_asked_again(nodes: Nodes) -> None:
    store = await nodes.join("n_1")
    first = await ask(store, nodes, "one", state="started")
    await ask(store, nodes, "two", state="started")
    records = [await store.inbox.get(f"m_{name}") for name in ("one", "two")]
    one, two = (record for record in records if record is not None)

    end = msgspec.structs.replace(ending(one, clock=nodes.clock), is_resumed=True)
    await store.turns.commit(first, end)
    await store.turns.abandon(two.id, Outcome.REFUSED)

    rows = [await store.approvals.get(f"q_{name}") for name in ("one", "two")]
    assert [(row.state, row.decided_by) for row in rows if row is not None] == [
        ("expired", "restart")
    ] * 2


@pytest.mark.req("J9", "J24", "W37")
async def test_what_is_kept_of_a_question_goes_with_its_message(nodes: Nodes) -> None:
    store = await nodes.join("n_1")
    await accept(store, "other", user="bob", clock=nodes.clock)
    before = bodies(nodes)
    lease = await ask(store, nodes, "one", state="started")
    now = nodes.clock.now()
    given = store.approvals.answer
    assert await given("q_one", b"so far", state="waiting", by="m_a", at=now)
    assert await given("q_one", b"Rome", state="approved", by="m_b", at=now)
    record = await store.inbox.get("m_one")
    assert record is not None
    end = ending(record, clock=nodes.clock)
    await store.turns.commit(lease, msgspec.structs.replace(end, entries=(), reply_entry=None))

    assert await store.purge(now + 1, limit=10) == 1

    assert await store.approvals.get("q_one") is None
    assert bodies(nodes) == before


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
async def test_a_node_that_was_silent_and_whom_nobody_buried_goes_on(nodes: Nodes) -> None:
    first, second = await nodes.join("n_1"), await nodes.join("n_2")
    nodes.clock.advance(LEASE_S * 10)
    was_silent = await second.fleet.silent()

    await first.fleet.beat()

    assert (was_silent, await second.fleet.silent()) == (("n_1",), ())
    with pytest.raises(GuardFailed):
        await second.fleet.bury("n_1")


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
