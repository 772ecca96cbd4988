"""J15 to J18 and J20 on the real journal: how a reply leaves, and who may write."""

import asyncio
from pathlib import Path

import pytest

from hermes import failpoints
from hermes.errors import FailureClass, NotDelivered
from hermes.message.ids import make_id
from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.ports.channel import Capabilities, Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import PUSH, Rig, equals, has, open_rig, some
from tests.stores.opening import full_disk

DOWN = NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)
KEYED = Capabilities(delivery="push", unknown="allow", edit=True, key_window_s=3600.0)
NO_EDIT = Capabilities(delivery="push", unknown="allow")


async def posted(rig: Rig, message_id: str) -> list[str]:
    deliveries = (await rig.timeline(message_id)).deliveries
    return [row.platform_message_id for row in deliveries if row.platform_message_id]


async def states(rig: Rig, message_id: str) -> list[str]:
    return [delivery.state.value for delivery in (await rig.timeline(message_id)).deliveries]


@pytest.mark.req("J15")
async def test_j15_the_row_of_a_pull_channel_is_born_sent(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("hello")
        await rig.outcome(message_id)

        assert await states(rig, message_id) == ["sent"]


@pytest.mark.req("J16", "W19")
async def test_j16_a_preview_and_the_reply_are_one_row_and_one_message(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("[[deltas:8]] [[hang:4]]", platform="push")
        await rig.until(lambda: bool(rig.push.posts))
        await rig.until(some(lambda: posted(rig, message_id)))
        assert await states(rig, message_id) == ["preview"]
        await rig.answer("/stop", platform="push")
        await rig.until(equals(lambda: states(rig, message_id), ["sent"]))

        shown = [text for text in rig.push.texts("ann") if "(stopped)" in text]
        assert len(shown) == 1
        assert "▉" not in "".join(rig.push.texts("ann"))


@pytest.mark.req("J16")
async def test_j16_a_preview_whose_id_was_lost_in_a_crash_is_unknown(tmp_path: Path) -> None:
    clock = ManualClock()
    push = MemoryChannel(NO_EDIT, name="push")
    async with open_rig(tmp_path, clock=clock, push=push) as rig:
        message_id = await rig.say("[[hang]]", platform="push")
        await rig.until(lambda: len(rig.model.calls) == 1)
        view = await rig.store.turns.view(rig.lane(platform="push"))
        assert view.message is not None
        lease = Lease(view.lane, rig.store.fleet.node, view.fence, view.head)
        await rig.store.outbox.open_preview(
            lease,
            NewDelivery(
                id=f"o_{message_id[2:]}",
                target=Target(platform="push", account="default", chat_id="ann"),
                parts=None,
                state=DeliveryState.PREVIEW,
            ),
            message_id=message_id,
            person_id=view.message.person_id,
        )

    async with open_rig(tmp_path, clock=clock, push=push, start=False, sending=False) as rig:
        assert await states(rig, message_id) == ["unknown"]


@pytest.mark.req("J17", "A26")
async def test_j17_a_lost_answer_with_a_platform_key_is_sent_again_and_arrives_once(
    tmp_path: Path,
) -> None:
    push = MemoryChannel(KEYED, name="push")
    async with open_rig(tmp_path, push=push) as rig:
        push.lose_answers("send", 1)
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)
        await rig.until(has(lambda: states(rig, message_id), "unknown"))
        await rig.as_time_passes(equals(lambda: states(rig, message_id), ["sent"]))

        assert push.texts("ann") == ["#1 hello"]


@pytest.mark.req("J17")
async def test_j17_a_lost_answer_without_a_key_is_sent_once_more_and_says_so(
    tmp_path: Path,
) -> None:
    push = MemoryChannel(NO_EDIT, name="push")
    async with open_rig(tmp_path, push=push) as rig:
        push.lose_answers("send", 1)
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)
        await rig.until(has(lambda: states(rig, message_id), "unknown"))
        await rig.as_time_passes(equals(lambda: states(rig, message_id), ["sent"]))

        first, second = push.texts("ann")
        assert first == "#1 hello"
        assert second != first
        assert second.endswith("#1 hello")


@pytest.mark.req("J18", "A28")
async def test_j18_a_retrying_reply_holds_back_later_ones_of_its_chat_only(
    tmp_path: Path,
) -> None:
    push = MemoryChannel(NO_EDIT, name="push")
    quick = {"OUTBOX__QUICK_DELAYS_S": "[0]", "BUSY__PLATFORMS__PUSH": "queue"}
    async with open_rig(tmp_path, push=push, settings=quick) as rig:
        push.fail("send", DOWN)
        held = await rig.say("first", platform="push")
        await rig.until(equals(lambda: states(rig, held), ["retry"]))
        later = await rig.say("second", platform="push")
        other = await rig.say("other", platform="push", chat="bob")
        await rig.until(equals(lambda: states(rig, other), ["sent"]))
        assert (await states(rig, held), await states(rig, later)) == (["retry"], ["pending"])

        rig.clock.advance(90)
        rig.core.push.senders["push"].wake()
        await rig.until(equals(lambda: states(rig, later), ["sent"]))

        assert push.texts("ann") == ["#1 first", "#2 second"]


@pytest.mark.req("J18")
async def test_j18_a_reply_that_is_too_old_is_dead_and_never_sent_late(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, sending=False) as rig:
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)
    clock.advance(3601)

    async with open_rig(tmp_path, clock=clock) as rig:
        await rig.until(equals(lambda: states(rig, message_id), ["dead"]))
        fresh = await rig.say("again", platform="push")
        await rig.until(equals(lambda: states(rig, fresh), ["sent"]))

        assert rig.push.texts("ann") == ["#2 again"]
        dead = (await rig.timeline(message_id)).deliveries[0]
        assert dead.failure == "too_old"
        assert dead.parts == (TextPart("#1 hello"),)


@pytest.mark.req("J18")
async def test_j18_nothing_is_sent_before_the_transport_has_proven_itself(tmp_path: Path) -> None:
    async with open_rig(tmp_path, sending=False) as rig:
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)
        assert (await states(rig, message_id), rig.push.calls) == (["pending"], [])

        rig.core.push.connected(rig.push)
        await rig.until(equals(lambda: states(rig, message_id), ["sent"]))


@pytest.mark.req("W18", "J6")
async def test_a_reply_that_begins_while_stop_is_written_is_stopped_and_named(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, sending=False) as rig:
        message_id = await rig.say("hello", platform="push")
        await rig.outcome(message_id)
        reply, begins = (await rig.deliveries(message_id))[0], list[asyncio.Task[None]]()

        def begin_and_refuse(_point: str) -> None:
            if not begins:
                sending = rig.store.outbox.sending(reply.id, chunk=0, at=rig.clock.now())
                begins.append(asyncio.create_task(sending))
                raise full_disk()

        failpoints.arm("store.commit.before", begin_and_refuse)
        try:
            said = await rig.answer("/stop", platform="push")
        finally:
            failpoints.disarm()
        stopped = (await rig.deliveries(message_id))[0]

    assert (len(begins), begins[0].done()) == (1, True)
    assert said == "Stopped. The rest of the reply is not sent."
    assert (reply.stopped_by, stopped.stopped_by is not None) == (None, True)


@pytest.mark.req("J16")
async def test_j16_ids_of_replies_follow_from_their_messages(tmp_path: Path) -> None:
    async with open_rig(tmp_path, push=MemoryChannel(PUSH, name="push")) as rig:
        message_id = await rig.say(make_id("hello"), platform="push")
        await rig.outcome(message_id)

        assert (await rig.timeline(message_id)).deliveries[0].id == f"o_{message_id[2:]}"


@pytest.mark.req("J11", "J16")
async def test_j11_words_that_were_seen_before_a_crash_are_paid_for_when_the_turn_is_stopped(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    push = MemoryChannel(PUSH, name="push")
    stopping = {"BUSY__PLATFORMS__PUSH": "interrupt"}
    async with open_rig(tmp_path, clock=clock, push=push, settings=stopping) as rig:
        seen = await rig.say("[[deltas:8]] [[hang:4]]", platform="push")
        unseen = await rig.say("[[hang:0]]", platform="push", chat="bob")
        await rig.until(some(lambda: posted(rig, seen)))
        await rig.until(lambda: len(rig.model.calls) == 2)

    async with open_rig(
        tmp_path, clock=clock, push=push, settings=stopping, start=False, sending=False
    ) as rig:
        await rig.say("never mind", platform="push")
        await rig.say("never mind", platform="push", chat="bob")
        await rig.start()

        assert await rig.outcome(seen) == "interrupted"
        assert await rig.outcome(unseen) == "interrupted"
        assert [row["kind"] for row in (await rig.timeline(seen)).ledger] == ["capture"]
        assert (await rig.timeline(unseen)).ledger == ()
