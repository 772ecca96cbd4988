"""A worker that sleeps through its lease cannot write when it wakes."""

import signal
from pathlib import Path

import aiohttp
import pytest

from hermes.errors import LeaseLost
from hermes.message.outcome import DeliveryState
from hermes.message.reply import Usage
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Step, StepWrite
from hermes.testing.manual_time import ManualClock
from tests.stores.engine import Options
from tests.stores.opening import open_store
from tests.torture.books import Books
from tests.torture.checks import check_books
from tests.torture.driver import Driver
from tests.torture.homes import Home, Mode
from tests.torture.polling import pause, until
from tests.torture.processes import start_command
from tests.torture.stand_ins import stand_ins
from tests.torture.store_rig import LEASE_S, Ids, accept, begin, ending
from tests.torture.story import open_work
from tests.torture.workload import Said

SLOW = Said(way="later", chat="c", id="f-m1", text="f-m1 [[slow:1]][[deltas:3]]")


@pytest.mark.req("J4", "J8", "J10", "J11", "W5")
async def test_a_gateway_alone_that_was_frozen_past_its_lease_goes_on_and_asks_once(
    tmp_path: Path,
) -> None:
    async with stand_ins() as made, aiohttp.ClientSession() as session:
        # Given a gateway with a short lease, in the middle of a model call
        home = Home(tmp_path / "home", Mode(keys=True))
        home.write(model_url=made.model.base_url, pigeon_url=made.keyed.base_url, lease_s=0.6)
        process = await start_command(home)
        await until(home.address, f"listening\n{home.log()}")
        place = made.place(home.mode)
        driver = Driver(home, place, session=session)
        await driver.say(SLOW)
        await until(lambda: made.calls("f-").total() == 1 or None, "the model call")

        # When it is frozen until the lease has run out and the answer has come
        process.send(signal.SIGSTOP)
        await pause(2.0)
        process.send(signal.SIGCONT)
        await until(lambda: not open_work(home.folder) or None, f"the end\n{home.log()}")
        process.send(signal.SIGTERM)
        await process.wait()

        # Then nobody else could have taken over, and the one call was answered and committed
        books = Books(home)
        check_books(books, driver, calls=made.calls("f-"), posted=(), place=place)
    first, *calls = books.steps[books.messages[0].id]
    told = [(step.kind, step.state, step.payer) for step in calls]
    assert (first.kind, told) == ("prepared", [("model", "done", "person")])
    assert [lane.owner for lane in books.lanes] == [None]
    assert made.calls("f-").total() == 1
    kinds = [row[1:3] for row in books.ledger if row[1] != "grant"]
    assert kinds == [("capture", -1)]


@pytest.mark.req("J4", "J11", "J16")
async def test_whoever_lost_the_lane_writes_nothing_any_more(tmp_path: Path) -> None:
    # Given two nodes on one store, and the first one frozen in its turn for longer than its lease
    clock, options = ManualClock(), Options(alone=False, lease_s=LEASE_S)
    frozen = await open_store(tmp_path, clock=clock, make_id=Ids(), options=options)
    await frozen.fleet.join("frozen")
    await accept(frozen, "one", clock=clock)
    lost, message = await begin(frozen, "ann", clock=clock, owner="frozen")
    clock.advance(LEASE_S + 1)
    awake = await open_store(tmp_path, clock=clock, make_id=Ids(), options=options)
    await awake.fleet.join("awake")
    held, _ = await begin(awake, "ann", clock=clock, owner="awake")

    # When the first one wakes up and goes on writing
    step = Step(ordinal=5, kind="model", state="started", usage=Usage())
    write = StepWrite(message_id=message.id, person_id=message.person_id, started=(step,))
    target = Target(platform="rest", account="a", chat_id="ann")
    preview = NewDelivery(id="o_one", target=target, parts=None, state=DeliveryState.PREVIEW)
    with pytest.raises(LeaseLost):
        await frozen.turns.step(lost, write)
    with pytest.raises(LeaseLost):
        await frozen.outbox.open_preview(
            lost, preview, message_id=message.id, person_id=message.person_id
        )
    with pytest.raises(LeaseLost):
        await frozen.turns.commit(lost, ending(message, clock=clock, text="from the grave"))
    with pytest.raises(LeaseLost):
        await frozen.fleet.beat()

    # Then nothing of it is there, and the second one's commit is the only one
    timeline = await awake.timeline(message.id)
    assert timeline is not None
    assert [s.ordinal for s in timeline.steps] == [0, 1]
    assert timeline.deliveries == ()
    assert await awake.people.balance(message.person_id) == -1
    await awake.turns.commit(held, ending(message, clock=clock, text="from the living"))
    result = await awake.inbox.result(message.id)
    assert result is not None
    assert (result.text, await awake.people.balance(message.person_id)) == ("from the living", -1)
    await frozen.close()
    await awake.close()
