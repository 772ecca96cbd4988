"""J4 to J6: one message at a time per session, under a lease; commands pass beside it."""

from pathlib import Path

import msgspec
import pytest

from hermes.errors import GuardFailed, LeaseLost
from hermes.message.outcome import Outcome
from hermes.ports.steps import Lease, StepWrite
from hermes.ports.turns import Begin, Commit, TurnResult
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, open_rig


async def begin(rig: Rig, message_id: str, *, owner: str, chat: str = "ann") -> Lease:
    view = await rig.store.turns.view(rig.lane(chat))
    assert view.message is not None
    return await rig.store.turns.begin(
        Begin(
            lane=view.lane,
            owner=owner,
            fence=view.fence,
            head=view.head,
            message_id=message_id,
            person_id=view.message.person_id,
            at=rig.clock.now(),
        )
    )


async def ending(rig: Rig, message_id: str) -> Commit:
    record = await rig.store.inbox.get(message_id)
    assert record is not None
    return Commit(
        message_id=message_id,
        person_id=record.person_id,
        outcome=Outcome.ANSWERED,
        result=TurnResult(text=""),
        at=rig.clock.now(),
        epoch=0,
    )


@pytest.mark.req("J4", "A5")
async def test_j4_messages_of_one_session_are_answered_in_order_one_at_a_time(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        ids = [await rig.say(f"number {number}") for number in range(5)]
        outcomes = [await rig.outcome(message_id) for message_id in ids]

        assert outcomes == ["answered"] * 5
        asked = [call.request.messages[-1].text for call in rig.model.calls]
        assert asked == [f"number {number}" for number in range(5)]
        history = (await rig.store.transcripts.history(rig.lane(), epoch=0, head=10)).messages
        assert [entry.text for entry in history][1::2] == [
            f"#{number + 1} number {number}" for number in range(5)
        ]


@pytest.mark.req("J4")
async def test_j4_sessions_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        stuck = await rig.say("[[hang]]", chat="ann")
        quick = await rig.say("hello", chat="bob")

        assert await rig.outcome(quick) == "answered"
        record = await rig.store.inbox.get(stuck)
        assert record is not None
        assert record.state == "running"


@pytest.mark.req("J4")
async def test_j4_the_lease_of_a_node_that_was_buried_cannot_write_anything(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        message_id = await rig.say("hello")
        buried = await begin(rig, message_id, owner=rig.store.fleet.node)
        await rig.store.fleet.join("n_next")

        write = StepWrite(message_id=message_id, person_id="p")
        with pytest.raises(LeaseLost):
            await rig.store.turns.step(buried, write)
        with pytest.raises(LeaseLost):
            await rig.store.turns.commit(buried, await ending(rig, message_id))
        with pytest.raises(LeaseLost):
            await begin(rig, message_id, owner=buried.owner)


@pytest.mark.req("J4")
async def test_j4_the_next_owner_gets_a_higher_fence_and_the_old_one_stays_out(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        message_id = await rig.say("hello")
        old = await begin(rig, message_id, owner=rig.store.fleet.node)
        assert await rig.store.fleet.join("n_next") == (rig.lane(),)
        new = await begin(rig, message_id, owner="n_next")

        with pytest.raises(LeaseLost):
            await rig.store.turns.commit(old, await ending(rig, message_id))
        await rig.store.turns.commit(new, await ending(rig, message_id))

        # One for the burial, one for the next lease.
        assert new.fence == old.fence + 2
        record = await rig.store.inbox.get(message_id)
        assert record is not None
        assert record.outcome is Outcome.ANSWERED


@pytest.mark.req("J4")
async def test_j4_two_workers_cannot_both_take_a_lane(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        message_id = await rig.say("hello")
        await begin(rig, message_id, owner="first")

        with pytest.raises(LeaseLost):
            await begin(rig, message_id, owner="second")


@pytest.mark.req("J4")
async def test_j4_a_view_that_is_one_lease_old_takes_no_lane(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        message_id = await rig.say("hello")
        stale = await rig.store.turns.view(rig.lane())
        assert stale.message is not None
        node = rig.store.fleet.node
        lease = await begin(rig, message_id, owner=node)

        with pytest.raises(LeaseLost):
            # The same worker, so that only the fence can say no.
            await rig.store.turns.begin(
                Begin(
                    lane=stale.lane,
                    owner=node,
                    fence=stale.fence,
                    head=stale.head,
                    message_id=message_id,
                    person_id=stale.message.person_id,
                    at=rig.clock.now(),
                )
            )
        await rig.store.turns.commit(lease, await ending(rig, message_id))


@pytest.mark.req("J13", "J4")
async def test_j13_a_commit_cannot_end_a_message_that_it_has_not_claimed(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        message_id, waiting = await rig.say("one"), await rig.say("two")
        lease = await begin(rig, message_id, owner=rig.store.fleet.node)
        commit = msgspec.structs.replace(await ending(rig, message_id), merged=(waiting,))

        with pytest.raises(GuardFailed, match=waiting):
            await rig.store.turns.commit(lease, commit)

        states = [await rig.store.inbox.state(one) for one in (message_id, waiting)]
        assert states == ["running", "new"]


@pytest.mark.req("J4")
async def test_j4_at_boot_the_leases_of_the_dead_are_void_at_once(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        message_id = await rig.say("hello")
        await begin(rig, message_id, owner=rig.store.fleet.node)

    async with open_rig(tmp_path) as rig:
        assert await rig.outcome(message_id) == "answered"


@pytest.mark.req("J5")
async def test_j5_a_reset_beside_a_running_turn_does_not_lose_it(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("before")
        running = await rig.say("[[hang:0]] during")
        await rig.until(lambda: len(rig.model.calls) == 2)
        await rig.answer("/new")

        assert await rig.outcome(running) == "interrupted"
        assert await rig.answer("after") == "#1 after"
        old = (await rig.store.transcripts.history(rig.lane(), epoch=0, head=99)).messages
        assert [entry.text for entry in old] == ["before", "#1 before", "[[hang:0]] during"]


@pytest.mark.req("J6", "W16")
async def test_j6_stop_passes_a_running_turn_and_leaves_queued_messages_alone(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        running = await rig.say("[[hang]]")
        queued = await rig.say("next")
        await rig.until(lambda: len(rig.model.calls) == 1)

        stopped = await rig.answer("/stop")

        assert stopped == "Stopped."
        assert await rig.outcome(running) == "interrupted"
        assert await rig.outcome(queued) == "answered"


@pytest.mark.req("J6")
async def test_j6_a_stop_that_was_committed_holds_over_a_crash(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock) as rig:
        running = await rig.say("[[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 1)
    async with open_rig(tmp_path, clock=clock, start=False) as rig:
        stop = await rig.say("/stop")

    async with open_rig(tmp_path, clock=clock) as rig:
        assert await rig.outcome(stop) == "answered"
        assert await rig.outcome(running) == "interrupted"


@pytest.mark.req("J6")
async def test_j6_status_answers_while_a_turn_runs(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        running = await rig.say("[[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 1)

        assert running in await rig.answer("/status")
        assert await rig.answer("/stop") == "Stopped."
        assert "idle" in await rig.answer("/status")


@pytest.mark.req("W18")
async def test_w18_status_counts_the_messages_of_this_conversation_alone(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("one")
        await rig.answer("two")
        before = await rig.answer("/status")
        await rig.answer("/new")

        assert before == "This session is idle; 2 messages answered since it began."
        assert "0 messages" in await rig.answer("/status")


@pytest.mark.req("J2", "A8")
async def test_turns_start_later_while_many_messages_are_accepted_but_they_start(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        rig.core.signals.accepting = 500
        waiting = await rig.say("after the rush")
        assert await rig.answer("/status")
        assert rig.model.calls == []

        rig.core.signals.accepting = 3
        assert await rig.outcome(waiting) == "answered"

        rig.core.signals.accepting = 500
        assert await rig.outcome(await rig.say("in an endless rush")) == "answered"


@pytest.mark.req("J12")
async def test_j12_a_stop_for_a_message_that_has_ended_spares_the_next(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        ended = await rig.say("hello")
        await rig.outcome(ended)
        running = await rig.say("[[hang]] again")
        await rig.until(lambda: len(rig.model.calls) == 2)

        rig.core.lanes.interrupt(rig.lane(), "m_late", message_id=ended)
        await rig.answer("a barrier", chat="bob")

        assert await rig.store.inbox.state(running) == "running"
        rig.core.lanes.interrupt(rig.lane(), "m_now", message_id=running)
        assert await rig.outcome(running) == "interrupted"


@pytest.mark.req("W16")
@pytest.mark.parametrize(
    ("chosen", "policy"),
    [({}, "interrupt"), ({"BUSY__PLATFORMS__PUSH": "queue"}, "queue")],
    ids=["the platform's own", "the setting"],
)
async def test_w16_what_a_platforms_messages_do_to_a_turn_is_a_setting(
    tmp_path: Path, chosen: dict[str, str], policy: str
) -> None:
    async with open_rig(tmp_path, settings=chosen, start=False) as rig:
        record = await rig.store.inbox.get(await rig.say("hello", platform="push"))

        assert record is not None
        assert record.busy == policy


@pytest.mark.req("J4", "J10")
async def test_j10_a_message_that_is_abandoned_frees_its_own_lane_alone(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        node = rig.store.fleet.node
        messages = [await rig.say("hello", chat=chat) for chat in ("ann", "bob")]
        leases = [
            await begin(rig, one, owner=node, chat=chat)
            for one, chat in zip(messages, ("ann", "bob"), strict=True)
        ]

        await rig.store.turns.abandon(messages[0], Outcome.FAILED)
        await rig.store.turns.commit(leases[1], await ending(rig, messages[1]))

        with pytest.raises(LeaseLost):
            await rig.store.turns.commit(leases[0], await ending(rig, messages[0]))
        records = [await rig.store.inbox.get(one) for one in messages]
        assert [one.outcome for one in records if one is not None] == ["failed", "answered"]
