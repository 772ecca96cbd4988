"""J21: what a turn spends is written with its steps and its end, or not at all."""

from pathlib import Path

import msgspec
import pytest

from hermes.errors import LeaseLost
from hermes.message.reply import Usage
from hermes.ports.spend import Account, CallLine, Meter, SpendEntry
from hermes.ports.steps import Lease, Step, StepWrite, TimelineEvent
from hermes.ports.store import Store
from hermes.ports.turns import Interaction, MessageRecord
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened
from tests.torture.store_rig import accept, begin, ending

CLOCK = ManualClock()
USAGE = Usage(10, 5, 4, 3, 0.5, 2)
ALL = Meter("platform", "platform", "tokens")


def spent(message: MessageRecord) -> SpendEntry:
    account = Account(person_id=message.person_id, agent="main", channel="rest")
    return SpendEntry(day="2026-11-15", account=account, model="one", usage=USAGE)


async def begun(store: Store) -> tuple[Lease, MessageRecord]:
    await accept(store, "hello", clock=CLOCK)
    return await begin(store, "ann", clock=CLOCK)


def called(message: MessageRecord) -> StepWrite:
    """Return the model step of a turn that has started, ended, and its cost."""
    return StepWrite(
        message_id=message.id,
        person_id=message.person_id,
        started=(Step(ordinal=1, kind="model", state="started"),),
        spent=(spent(message),),
    )


@pytest.mark.req("J21", "J10")
async def test_what_steps_and_the_end_spent_is_there_after_reopening(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        lease, message = await begun(store)
        await store.turns.step(lease, called(message))
        end = msgspec.structs.replace(ending(message, clock=CLOCK), spent=(spent(message),))
        await store.turns.commit(lease, end)

    async with opened(tmp_path) as store:
        mine = Meter("person", message.person_id, "usd", "2026-11-15")
        assert (await store.spend.total(ALL), await store.spend.total(mine)) == (30.0, 1.0)


@pytest.mark.req("J21", "J4")
async def test_who_lost_the_lane_spends_nothing(store: Store) -> None:
    lease, message = await begun(store)
    lost = Lease(lease.lane, lease.owner, lease.fence - 1)
    end = msgspec.structs.replace(ending(message, clock=CLOCK), spent=(spent(message),))

    with pytest.raises(LeaseLost):
        await store.turns.step(lost, called(message))
    with pytest.raises(LeaseLost):
        await store.turns.commit(lost, end)

    assert await store.spend.total(ALL) == 0.0


@pytest.mark.req("A20")
async def test_tokens_without_a_price_are_told_by_step_and_interaction(store: Store) -> None:
    lease, message = await begun(store)
    await store.turns.step(lease, called(message))
    model = Step(ordinal=1, kind="model", state="done", body=b"{}", usage=USAGE, at=CLOCK.now())
    took = Interaction(agent="main", platform="rest", usage=USAGE)
    end = msgspec.structs.replace(ending(message, clock=CLOCK), ended=(model,), interaction=took)
    await store.turns.commit(lease, end)

    story = await store.timeline(message.id)

    assert story is not None
    assert story.interaction is not None
    assert (story.steps[1].usage, story.steps[1].payer) == (USAGE, "person")
    assert story.interaction | {"tokens_in": 10, "cost_usd": 0.5, "unpriced": 2} == (
        story.interaction
    )


@pytest.mark.req("A20")
async def test_of_what_was_written_to_a_cache_only_the_cost_is_kept(store: Store) -> None:
    lease, message = await begun(store)
    await store.turns.step(lease, called(message))
    used = msgspec.structs.replace(USAGE, cache_written=6)
    model = Step(ordinal=1, kind="model", state="done", body=b"{}", usage=used, at=CLOCK.now())
    end = msgspec.structs.replace(ending(message, clock=CLOCK), ended=(model,))
    await store.turns.commit(lease, end)

    story = await store.timeline(message.id)

    assert story is not None
    assert story.steps[1].usage == USAGE


@pytest.mark.req("A20")
async def test_a_forgotten_message_still_tells_its_unpriced_tokens(store: Store) -> None:
    lease, message = await begun(store)
    took = Interaction(agent="main", platform="rest", usage=Usage(10, 5, unpriced=2))
    await store.turns.commit(
        lease, msgspec.structs.replace(ending(message, clock=CLOCK), interaction=took)
    )
    await store.purge(CLOCK.now() + 1, limit=10)

    (shown,) = (await store.transcripts.conversation("ann", limit=5)).messages

    assert shown.result is not None
    assert shown.result.usage == Usage(10, 5, unpriced=2)


def line(name: str, at: float) -> CallLine:
    return CallLine(id=name, at=at, data={"model": "one", "ms": 3})


@pytest.mark.req("J21", "J22")
async def test_a_call_has_a_timeline_of_its_own(store: Store) -> None:
    await store.spend.add([], lines=[line("c_1", 5.0), line("c_2", 6.0)])

    story = await store.timeline("c_2")

    assert story is not None
    assert (story.message, story.refusal, story.steps) == (None, None, ())
    assert story.events == (TimelineEvent("call", 6.0, {"model": "one", "ms": 3}),)
    assert await store.timeline("c_3") is None


@pytest.mark.req("J21")
async def test_calls_are_forgotten_after_their_time_a_few_at_a_time(store: Store) -> None:
    lease, message = await begun(store)
    noted = TimelineEvent("noted", 1.0, {})
    await store.turns.step(
        lease, StepWrite(message_id=message.id, person_id=message.person_id, events=(noted,))
    )
    await store.spend.add([], lines=[line(f"c_{at}", float(at)) for at in (3, 1, 2, 4)])

    purged = [await store.purge(4.0, limit=2) for _ in range(3)]

    known = [
        name for name in ("c_1", "c_2", "c_3", "c_4") if await store.timeline(name) is not None
    ]
    assert (purged, known) == ([2, 1, 0], ["c_4"])
    story = await store.timeline(message.id)
    assert story is not None
    assert story.events == (noted,)


@pytest.mark.req("J21")
async def test_messages_and_calls_share_the_limit_of_a_purge(store: Store) -> None:
    lease, message = await begun(store)
    await store.turns.commit(lease, ending(message, clock=CLOCK))
    await store.spend.add([], lines=[line("c_1", 1.0), line("c_2", 2.0)])

    purged = [await store.purge(CLOCK.now() + 1, limit=2) for _ in range(3)]

    assert purged == [2, 1, 0]
    assert [await store.timeline(name) for name in (message.id, "c_1", "c_2")] == [None, None, None]
