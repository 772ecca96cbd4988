"""W16, W20, J13: a text that comes before anything was shown joins the turn; the person sees one answer."""

from pathlib import Path
from typing import Any

import pytest

from hermes.message.parts import ImagePart, Media
from hermes.message.reply import STOPPED
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, has, open_rig

JOIN_S = 2.0
# What follows is gathered at once.
CLOSE = {"BUSY__JOIN_S": str(JOIN_S), "BUSY__FOLLOW_UP_S": "0"}
THREAD: dict[str, Any] = {"chat": "room", "chat_type": "group", "thread": "7"}


def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
    """Hang on what begins the conversation; answer what follows it."""
    is_first = seen.last_text.endswith("one")
    return ScriptedTurn(fault="hang") if is_first else ScriptedTurn(text="fine")


async def begun(rig: Rig, **more: Any) -> str:
    """Let a turn wait for its model."""
    first = await rig.say("one", platform="push", **more)
    await rig.until(lambda: len(rig.model.calls) == 1)
    return first


async def outcomes(rig: Rig, *messages: str) -> list[str]:
    return [await rig.outcome(one) for one in messages]


async def conversation(rig: Rig) -> list[tuple[str, str]]:
    lane = rig.lane(platform="push")
    view = await rig.store.turns.view(lane)
    history = await rig.store.transcripts.history(lane, epoch=view.epoch, head=view.head)
    return [(one.role, one.text) for one in history.messages]


def posted(rig: Rig) -> list[str]:
    return [post.text for post in rig.push.posts.values()]


@pytest.mark.req("W16", "W20", "J11", "J13")
async def test_one_answer_charged_once_and_the_call_that_was_given_up_counts_for_its_person(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, script=script, settings=CLOSE) as rig:
        first = await begun(rig)
        second = await rig.say("two", platform="push")

        assert await outcomes(rig, first, second) == ["answered", "merged"]
        asked = [one.text for one in rig.model.calls[-1].request.messages]
        assert (asked, len(rig.model.calls)) == (["one", "two"], 2)
        assert await conversation(rig) == [
            ("user", "one"),
            ("user", "two"),
            ("assistant", "fine"),
        ]
        await rig.until(lambda: posted(rig) == ["fine"])
        told = await rig.timeline(first)
        calls = [(step.state, step.payer) for step in told.steps if step.kind == "model"]
        assert calls == [("failed", "person"), ("done", "person")]
        # What was given up costs its input, and not the longest answer that there could have been.
        given_up = next(step for step in told.steps if step.kind == "model")
        assert (given_up.usage.tokens_in > 0, given_up.usage.tokens_out) == (True, 0)
        assert [line["kind"] for line in told.ledger] == ["capture"]
        assert (await rig.timeline(second)).ledger == ()


@pytest.mark.req("W16", "J12")
async def test_what_comes_later_stops_the_turn_as_always(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, script=script, settings=CLOSE, clock=clock) as rig:
        first = await begun(rig)
        clock.advance(JOIN_S + 0.1)
        second = await rig.say("two", platform="push")

        assert await outcomes(rig, first, second) == ["interrupted", "answered"]
        await rig.until(lambda: posted(rig) == [STOPPED, "fine"])


@pytest.mark.req("W16", "J12", "J16")
async def test_what_comes_after_something_was_shown_stops_the_turn_as_always(
    tmp_path: Path,
) -> None:
    def shows(_seen: SeenConversation, number: int) -> ScriptedTurn:
        if number > 1:
            return ScriptedTurn(text="fine")
        return ScriptedTurn(text="I begin to answer", deltas=2, fault="hang", after=1)

    async with open_rig(tmp_path, script=shows, settings=CLOSE) as rig:
        first = await begun(rig)
        await rig.until(lambda: bool(rig.push.posts))
        second = await rig.say("two", platform="push")

        assert await outcomes(rig, first, second) == ["interrupted", "answered"]
        await rig.until(lambda: posted(rig)[1:] == ["fine"])
        assert STOPPED in posted(rig)[0]


@pytest.mark.req("W16", "J6", "J12")
async def test_stop_ends_all_that_was_asked_and_leaves_it_in_the_conversation(
    tmp_path: Path,
) -> None:
    def hangs(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(fault="hang")

    async with open_rig(tmp_path, script=hangs, settings=CLOSE) as rig:
        first = await begun(rig)
        second = await rig.say("two", platform="push")
        await rig.until(lambda: len(rig.model.calls) == 2)

        assert await rig.answer("/stop", platform="push") == "Stopped."

        assert await outcomes(rig, first, second) == ["interrupted", "merged"]
        assert await conversation(rig) == [("user", "one"), ("user", "two")]
        assert [line["kind"] for line in (await rig.timeline(first)).ledger] == []
        assert len(rig.model.calls) == 2


@pytest.mark.req("W16", "J12")
@pytest.mark.parametrize("what", ["other person", "picture", "no merging"])
async def test_what_may_not_join_stops_the_turn_as_always(tmp_path: Path, what: str) -> None:
    picture = ImagePart(Media("image/png", url="https://pictures.example/a"))
    off = {"BUSY__MERGE_FOLLOW_UPS": "false"} if what == "no merging" else {}
    changes: dict[str, dict[str, Any]] = {
        "picture": {"attached": (picture,)},
        "other person": {"user": "bob"},
    }
    more = changes.get(what, {})
    async with open_rig(tmp_path, script=script, settings={**CLOSE, **off}) as rig:
        first = await begun(rig, user="ann", **THREAD)
        second = await rig.say("two", platform="push", **{"user": "ann", **THREAD, **more})

        assert await outcomes(rig, first, second) == ["interrupted", "answered"]


@pytest.mark.req("W16", "J13")
async def test_what_was_queued_never_joins(tmp_path: Path) -> None:
    async with open_rig(tmp_path, script=script, settings=CLOSE) as rig:
        first = await begun(rig)
        queued = await rig.say("/queue later", platform="push")
        second = await rig.say("two", platform="push")

        # Nothing passes what was queued.
        found = await outcomes(rig, first, queued, second)
        assert found == ["interrupted", "answered", "answered"]


@pytest.mark.req("J10", "J13")
async def test_one_that_joined_a_turn_that_fails_becomes_new_again(tmp_path: Path) -> None:
    def fails(_seen: SeenConversation, number: int) -> ScriptedTurn:
        broken = ScriptedTurn(fault="status", status=500)
        return {1: ScriptedTurn(fault="hang"), 2: broken}.get(number, ScriptedTurn(text="fine"))

    async with open_rig(tmp_path, script=fails, settings=CLOSE) as rig:
        first = await begun(rig)
        second = await rig.say("two", platform="push")

        assert await outcomes(rig, first, second) == ["failed", "answered"]
        assert [text for role, text in await conversation(rig) if role == "user"] == ["one", "two"]


@pytest.mark.req("W5", "J4", "J13")
@pytest.mark.parametrize("is_close", [True, False])
async def test_one_that_came_before_a_crash_joins_the_turn_when_it_goes_on(
    tmp_path: Path, is_close: bool
) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, script=script, settings=CLOSE, clock=clock) as rig:
        first = await begun(rig)
        await rig.crash()

    async with open_rig(tmp_path, script=script, settings=CLOSE, clock=clock, start=False) as rig:
        clock.advance(0.1 if is_close else JOIN_S + 0.1)
        second = await rig.say("two", platform="push")
        await rig.start()

        expected = ["answered", "merged"] if is_close else ["interrupted", "answered"]
        assert await outcomes(rig, first, second) == expected
        await rig.until(lambda: posted(rig)[-1:] == ["fine"])
        assert (STOPPED in posted(rig)) is not is_close


@pytest.mark.req("W5", "J4", "J13")
@pytest.mark.parametrize("is_early", [True, False])
async def test_after_a_crash_what_is_close_is_counted_from_the_last_that_joined(
    tmp_path: Path, is_early: bool
) -> None:
    def answers_three(seen: SeenConversation, _number: int) -> ScriptedTurn:
        is_last = seen.last_text.endswith("three")
        return ScriptedTurn(text="fine") if is_last else ScriptedTurn(fault="hang")

    clock, step_s = ManualClock(), JOIN_S * 0.75
    async with open_rig(tmp_path, script=answers_three, settings=CLOSE, clock=clock) as rig:
        first = await begun(rig)
        clock.advance(step_s)
        second = await rig.say("two", platform="push")
        await rig.until(lambda: len(rig.model.calls) == 2)
        await rig.crash()

    again = open_rig(
        tmp_path, script=answers_three, settings=CLOSE, clock=clock, start=not is_early
    )
    async with again as rig:
        await rig.until(lambda: len(rig.model.calls) == int(not is_early))
        clock.advance(step_s)
        third = await rig.say("three", platform="push")
        if is_early:
            await rig.start()

        assert await outcomes(rig, first, second, third) == ["answered", "merged", "merged"]
        await rig.until(lambda: posted(rig) == ["fine"])


@pytest.mark.req("W16", "J13")
async def test_one_that_comes_while_a_turn_waits_for_a_place_joins_it(tmp_path: Path) -> None:
    one_place = {**CLOSE, "TURNS__MAX_CONCURRENT_CALLS": "1"}
    async with open_rig(tmp_path, script=script, settings=one_place) as rig:
        await begun(rig, user="bob", chat="bob")
        first = await rig.say("begin", platform="push")
        await rig.until(has(lambda: rig.kinds(first), "waits_for_place"))
        second = await rig.say("two", platform="push")
        await rig.answer("/stop", platform="push", user="bob", chat="bob")

        assert await outcomes(rig, first, second) == ["answered", "merged"]
        assert await conversation(rig) == [("user", "begin\ntwo"), ("assistant", "fine")]
        kinds = await rig.kinds(first)
        # It has waited twice; what was done for it was done once.
        assert {one for one in kinds if kinds.count(one) > 1} == {"waits_for_place"}
        assert "joined" in kinds
