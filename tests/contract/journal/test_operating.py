"""What operators do to a core that runs: a rest for a platform, dead letters, an end to a session."""

from pathlib import Path

import pytest

from hermes.control.channels import ChannelOperations, ChannelOrder
from hermes.control.deadletters import DeadLetterOperations, LetterAsk, LetterOrder, LettersAsk
from hermes.control.runtime import RuntimeHandles
from hermes.control.sessions import SessionOperations, SessionOrder, SessionsAsk
from hermes.errors import Conflict, NotFound, Overloaded
from hermes.message.outcome import DeliveryState
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, open_rig

HOUR_S = 3_600.0


def channels_of(rig: Rig) -> ChannelOperations:
    handles = RuntimeHandles(platforms=rig.core.platforms, pause=rig.core.push.pause)
    return ChannelOperations(rig.store, handles, clock=rig.clock)


@pytest.mark.req("W20", "J18")
async def test_a_platform_that_rests_accepts_and_sends_nothing_over_a_restart_and_loses_nothing(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    order = ChannelOrder(platform="push")
    async with open_rig(tmp_path, clock=clock, sending=False) as rig:
        before = await rig.say("hello", platform="push")
        await rig.outcome(before)
        report = await channels_of(rig).pause(order)
        assert report.changed
        with pytest.raises(Overloaded, match="paused by its operator"):
            await rig.say("more", platform="push")
        assert await rig.answer("others go on") != ""

    clock.advance(5 * HOUR_S)
    async with open_rig(tmp_path, clock=clock) as rig:
        with pytest.raises(Overloaded):
            await rig.say("still", platform="push")
        await rig.core.maintenance.upkeep.round()
        await rig.core.push.senders["push"].flush(1.0)
        assert rig.push.texts("ann") == []
        resting = (await rig.deliveries(before))[0].state

        report = await channels_of(rig).resume(order)
        await rig.as_time_passes(lambda: len(rig.push.texts("ann")) == 1)

        assert (report.changed, resting) == (True, DeliveryState.PENDING)
        assert not (await channels_of(rig).resume(order)).changed
        await rig.say("again", platform="push")


async def test_only_platforms_that_are_there_can_rest(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        with pytest.raises(NotFound, match="push, rest"):
            await channels_of(rig).pause(ChannelOrder(platform="nowhere"))


@pytest.mark.req("W20", "J17", "J18")
async def test_a_dead_letter_is_shown_sent_again_as_new_or_dropped(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, sending=False) as rig:
        first = await rig.say("one", platform="push")
        second = await rig.say("two", platform="push", chat="bob")
        for message in (first, second):
            await rig.outcome(message)
            (row,) = await rig.deliveries(message)
            await rig.store.outbox.dead(row.id, failure="rejected", at=clock.now())
        desk = DeadLetterOperations(rig.store, clock=clock, wake=rig.core.signals.wake_outbox)
        listed = (await desk.list(LettersAsk())).letters
        shown = (await desk.show(LetterAsk(id=listed[1].id))).letter
        clock.advance(5 * HOUR_S)

        await desk.drop(LetterOrder(id=listed[0].id))
        await desk.replay(LetterOrder(id=listed[1].id))

        assert [one.message_id for one in listed] == [second, first]
        assert {(one.text, one.failure) for one in listed} == {(None, "rejected")}
        assert shown.text
        assert (await desk.list(LettersAsk())).letters == ()
        for letter in listed:
            with pytest.raises(NotFound):
                await desk.replay(LetterOrder(id=letter.id))
        rig.core.push.connected(rig.push)
        await rig.as_time_passes(lambda: len(rig.push.texts("ann")) == 1)
        (dropped,) = await rig.deliveries(second)
        assert (dropped.state, dropped.failure) == (DeliveryState.DEAD, "dropped")


@pytest.mark.req("W23")
async def test_a_session_is_listed_without_what_was_said_and_ended_by_its_id(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("a secret of mine")
        desk = SessionOperations(rig.store, clock=rig.clock, ended=lambda _lane, _reason: None)
        (line,) = (await desk.list(SessionsAsk())).sessions

        await desk.end(SessionOrder(session=line.id))
        await rig.answer("who am I?")
        (afresh,) = (await desk.list(SessionsAsk())).sessions

        assert (line.key, line.is_busy, line.messages) == (rig.lane(), False, 1)
        assert afresh.messages == 1
        assert "secret" not in repr(line)
        seen = [message.text for message in rig.model.calls[-1].request.messages]
        assert not any("secret" in text for text in seen)
        with pytest.raises(NotFound):
            await desk.end(SessionOrder(session="s_unknown"))


@pytest.mark.req("W23", "J5")
async def test_a_session_in_which_something_waits_is_not_ended(tmp_path: Path) -> None:
    async with open_rig(tmp_path, start=False) as rig:
        await rig.core.lanes.start()
        await rig.answer("hello")
        await rig.core.lanes.drain(0)
        await rig.say("and more")
        desk = SessionOperations(rig.store, clock=rig.clock, ended=lambda _lane, _reason: None)

        with pytest.raises(Conflict):
            await desk.end(SessionOrder(session=rig.lane()))
