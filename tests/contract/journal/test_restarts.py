"""W5: a session that restarts cut off again and again is suspended, and its person is told."""

from functools import partial
from pathlib import Path

import pytest

from hermes.pipeline.comebacks import Comeback
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, open_rig


def back(seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text=f"back: {seen.last_text}")


def was_asked(rig: Rig) -> bool:
    return len(rig.model.calls) == 1


async def cut_off(home: Path, clock: ManualClock, *, text: str = "", times: int = 1) -> str:
    """Have a turn, a new one or the one that was left, cut off by so many crashes."""
    said = ""
    for number in range(times):
        async with open_rig(home, clock=clock) as rig:
            if text and not number:
                said = await rig.say(f"[[hang]] {text}")
            await rig.until(partial(was_asked, rig))
    return said


async def told(rig: Rig, message_id: str) -> str:
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return result.text


@pytest.mark.req("W5", "J10")
async def test_three_restarts_in_a_row_suspend_the_session_and_the_next_message_starts_afresh(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    stuck = await cut_off(tmp_path, clock, text="why", times=3)

    async with open_rig(tmp_path, clock=clock, script=back) as rig:
        assert await rig.outcome(stuck) == "failed"
        after = await rig.say("hello")
        assert await rig.outcome(after) == "answered"

        assert "starts a new conversation" in await told(rig, stuck)
        assert (await rig.timeline(stuck)).ledger == ()
        assert [m.text for m in rig.model.calls[-1].request.messages] == ["hello"]
        result = await rig.store.inbox.result(after)
        assert result is not None
        assert "restarted again and again" in result.notices[0]


@pytest.mark.req("W5")
async def test_two_restarts_are_survived_and_the_conversation_goes_on(tmp_path: Path) -> None:
    clock = ManualClock()
    stuck = await cut_off(tmp_path, clock, text="why", times=2)

    async with open_rig(tmp_path, clock=clock, script=back) as rig:
        assert await rig.outcome(stuck) == "answered"
        assert await told(rig, stuck) == "back: [[hang]] why"


@pytest.mark.req("W5")
async def test_a_normal_end_lowers_the_count_by_one(tmp_path: Path) -> None:
    clock = ManualClock()
    first = await cut_off(tmp_path, clock, text="one", times=2)
    async with open_rig(tmp_path, clock=clock, script=back) as rig:
        assert await rig.outcome(first) == "answered"
    second = await cut_off(tmp_path, clock, text="two")
    async with open_rig(tmp_path, clock=clock, script=back) as rig:
        assert await rig.outcome(second) == "answered"
    third = await cut_off(tmp_path, clock, text="three", times=2)

    async with open_rig(tmp_path, clock=clock, script=back) as rig:
        assert await rig.outcome(third) == "failed"


@pytest.mark.req("W5")
async def test_a_crash_during_which_the_session_was_idle_does_not_count(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock) as rig:
        await rig.answer("hello")
    for _ in range(4):
        async with open_rig(tmp_path, clock=clock, start=False):
            pass
    stuck = await cut_off(tmp_path, clock, text="why")

    async with open_rig(tmp_path, clock=clock, script=back) as rig:
        assert await rig.outcome(stuck) == "answered"


@pytest.mark.req("W5")
@pytest.mark.parametrize(
    ("within", "hours", "outcome"),
    [("3600", 0.9, "answered"), ("3600", 1.1, "expired"), ("0", 100, "answered")],
)
async def test_a_turn_is_resumed_within_an_hour_and_0_means_always(
    tmp_path: Path, within: str, hours: float, outcome: str
) -> None:
    clock = ManualClock()
    stuck = await cut_off(tmp_path, clock, text="why")
    clock.advance(hours * 3600)

    limit = {"LANES__RESUME_WITHIN_S": within, "SESSIONS__RESET__MODE": "none"}
    async with open_rig(tmp_path, clock=clock, script=back, settings=limit) as rig:
        assert await rig.outcome(stuck) == outcome
        told = await rig.store.inbox.result(stuck)
        assert told is not None
        assert ("lanes.resume_within_s" in (told.reason or "")) == (outcome == "expired")


@pytest.mark.req("W5", "J13")
async def test_what_waits_behind_a_suspended_turn_belongs_to_the_new_conversation(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock) as rig:
        stuck = await rig.say("[[hang]]")
        waiting = await rig.say("[[hang]] and this?")
        await rig.until(lambda: len(rig.model.calls) == 1)
    await cut_off(tmp_path, clock, times=2)

    async with open_rig(tmp_path, clock=clock) as rig:
        assert await rig.outcome(stuck) == "failed"
        await rig.until(lambda: len(rig.model.calls) == 1)
        seen = [message.text for message in rig.model.calls[-1].request.messages]
        assert seen == ["[[hang]] and this?"]
        shown = await rig.store.transcripts.conversation(rig.lane(), limit=9)
        told = [(one.record.id, one.epoch == shown.epoch) for one in shown.messages]
        assert told == [(stuck, False), (waiting, True)]


@pytest.mark.req("W5")
async def test_a_guarded_start_leaves_what_ran_and_works_on_what_waited(tmp_path: Path) -> None:
    clock = ManualClock()
    ran = await cut_off(tmp_path, clock, text="poison")
    async with open_rig(tmp_path, clock=clock, start=False) as rig:
        waited = await rig.say("innocent", chat="bob")
    clock.advance(1)

    guarded = Comeback(since=clock.now(), leaves="running")
    async with open_rig(tmp_path, clock=clock, script=back, comeback=guarded) as rig:
        assert await rig.outcome(ran) == "failed"
        assert await rig.outcome(waited) == "answered"
        assert await rig.answer("new") == "back: new"


@pytest.mark.req("W5")
async def test_if_the_crashes_go_on_what_waited_is_left_to_its_sender_too(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, start=False) as rig:
        waited = await rig.say("poison", chat="bob")
    clock.advance(1)

    guarded = Comeback(since=clock.now(), leaves="waiting")
    async with open_rig(tmp_path, clock=clock, script=back, comeback=guarded) as rig:
        assert await rig.outcome(waited) == "failed"
        assert "send it again" in await told(rig, waited)
        assert rig.model.calls == []
        assert await rig.answer("new") == "back: new"
