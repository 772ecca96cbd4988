"""A hedge after a delay: who is asked when, whose output wins, and what the other one costs."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
import pytest

from hermes.calls.events import CallEvent, CallFailure, CallStart
from hermes.calls.hedge import HedgedCall
from hermes.errors import ProviderRejected, ProviderUnavailable
from hermes.message.parts import text_of
from hermes.ports.provider import TextDelta
from hermes.routing.plan import Plan
from hermes.testing.model_script import ScriptedTurn
from hermes.testing.scripted_model import ScriptedProvider
from tests.contract.calls.rig import Story, model, open_calls, plan_of, until_called

HEDGE = {"ROUTING__HEDGE_AFTER_S": "0.02"}
SILENT = ScriptedTurn(fault="hang")
FINE = ScriptedTurn(text="first words", deltas=2)


def late(name: str, turn: ScriptedTurn, *, after: ScriptedProvider) -> ScriptedProvider:
    """A model that answers only once another one was called."""

    async def wait(_seconds: float) -> None:
        await until_called(after)

    slow = msgspec.structs.replace(turn, delay_s=1.0)
    return ScriptedProvider([slow], info=model(name).info, sleep=wait)


def tried(story: Story) -> list[str]:
    return [one.candidate.provider for one in story.events if isinstance(one, CallStart)]


def failures(story: Story) -> list[str]:
    return [one.candidate.provider for one in story.events if isinstance(one, CallFailure)]


@pytest.mark.req("P5", "A23")
@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
async def test_a_silent_candidate_is_overtaken_and_charged_like_a_call_that_was_left(
    tmp_path: Path, *, whole: bool
) -> None:
    one, two = model("one", [SILENT]), model("two", [FINE])
    async with open_calls(tmp_path, one, two, settings=HEDGE) as rig:
        story = await rig.call("hello", "one", "two", hedges=True, whole=whole)

    assert tried(story) == ["one", "two"]
    assert text_of(story.answer.end.parts) == "first words"
    assert one.cancelled == 1
    assert sorted(spent.model for spent in story.spent) == ["one:one-1", "two:two-1"]
    (slower,) = [event for event in story.events if isinstance(event, CallFailure)]
    assert slower.candidate.provider == "one"


@pytest.mark.req("P5")
async def test_a_candidate_that_answers_in_time_is_alone(tmp_path: Path) -> None:
    one, two = model("one", [FINE]), model("two")
    async with open_calls(tmp_path, one, two, settings={"ROUTING__HEDGE_AFTER_S": "60"}) as rig:
        story = await rig.call("hello", "one", "two", hedges=True)

    assert story.kinds == ["CallStart", "TextDelta", "TextDelta", "FullAnswer"]
    assert two.calls == []


@pytest.mark.req("P5")
async def test_the_first_may_still_win_and_the_hedge_is_cancelled(tmp_path: Path) -> None:
    two = model("two", [SILENT])
    one = late("one", ScriptedTurn(text="at last"), after=two)
    async with open_calls(tmp_path, one, two, settings=HEDGE) as rig:
        story = await rig.call("hello", "one", "two", hedges=True)

    assert tried(story) == ["one", "two"]
    assert story.answer.candidate.provider == "one"
    assert two.cancelled == 1


@pytest.mark.req("P5")
async def test_a_first_candidate_that_fails_at_once_is_followed_as_always(tmp_path: Path) -> None:
    one, two = model("one", [ScriptedTurn(fault="status", status=500)]), model("two", [FINE])
    async with open_calls(tmp_path, one, two, settings={"ROUTING__HEDGE_AFTER_S": "60"}) as rig:
        story = await rig.call("hello", "one", "two", hedges=True)

    assert story.kinds[:3] == ["CallStart", "CallFailure", "CallStart"]
    assert story.answer.candidate.provider == "two"


@pytest.mark.req("P5")
async def test_if_the_hedge_fails_the_first_is_waited_for(tmp_path: Path) -> None:
    two = model("two", [ScriptedTurn(fault="status", status=500)])
    one = late("one", ScriptedTurn(text="at last"), after=two)
    async with open_calls(tmp_path, one, two, settings=HEDGE) as rig:
        story = await rig.call("hello", "one", "two", hedges=True)

    assert text_of(story.answer.end.parts) == "at last"


@pytest.mark.req("P5")
async def test_if_both_fail_nobody_is_asked_twice_and_the_error_is_raised(tmp_path: Path) -> None:
    two = model("two", [ScriptedTurn(fault="status", status=502)])
    one = late("one", ScriptedTurn(fault="status", status=500), after=two)
    async with open_calls(tmp_path, one, two, settings=HEDGE) as rig:
        with pytest.raises(ProviderUnavailable, match=r"50[02]"):
            await rig.call("hello", "one", "two", hedges=True)

    assert (len(one.calls), len(two.calls)) == (1, 1)


@pytest.mark.req("P5")
async def test_if_both_fail_the_hedge_goes_on_to_the_candidates_that_are_left(
    tmp_path: Path,
) -> None:
    story = Story()

    async def until_one_failed(_seconds: float) -> None:
        async with asyncio.timeout(30):
            while not failures(story):  # noqa: ASYNC110  the call runs in a task of its own
                await asyncio.sleep(0)

    slow = ScriptedTurn(fault="status", status=502, delay_s=1.0)
    two = ScriptedProvider([slow], info=model("two").info, sleep=until_one_failed)
    one = late("one", ScriptedTurn(fault="status", status=500), after=two)
    three = model("three", [FINE])
    async with open_calls(tmp_path, one, two, three, settings=HEDGE) as rig:
        await rig.call("hello", "one", "two", "three", hedges=True, story=story)

    assert tried(story) == ["one", "two", "three"]
    assert failures(story) == ["one", "two"]
    assert text_of(story.answer.end.parts) == "first words"


@pytest.mark.req("P5")
async def test_a_hedge_between_two_tries_fails_once() -> None:
    plan = plan_of("one", "two", "three")
    one, two, _ = plan.candidates
    is_waiting = asyncio.Event()

    async def walk(asked: Plan) -> AsyncGenerator[CallEvent, None]:
        if asked.candidates[0] == one:
            yield CallStart(one)
            await is_waiting.wait()
            yield TextDelta("at last")
            return
        yield CallStart(two)
        yield CallFailure(two, ProviderUnavailable("two: 502"))
        is_waiting.set()
        await asyncio.Event().wait()

    hedged = HedgedCall(walk, plan, after_s=0.02)
    events = [event async for event in hedged.run()]

    assert [event.candidate for event in events if isinstance(event, CallFailure)] == [two]


@pytest.mark.req("P5")
async def test_a_request_that_everybody_refuses_ends_both(tmp_path: Path) -> None:
    def refuse(*_: object) -> ScriptedTurn:
        raise ProviderRejected("messages: must not be empty", everywhere=True)

    one, two = model("one", refuse), model("two", [FINE])
    async with open_calls(tmp_path, one, two, settings=HEDGE) as rig:
        with pytest.raises(ProviderRejected, match="must not be empty"):
            await rig.call("hello", "one", "two", hedges=True)

    assert two.calls == []


@pytest.mark.req("P5", "A23")
async def test_a_caller_who_leaves_ends_both_calls(tmp_path: Path) -> None:
    one, two = model("one", [SILENT]), model("two", [SILENT])
    async with open_calls(tmp_path, one, two, settings=HEDGE) as rig:
        story = Story()
        task = asyncio.create_task(rig.call("hello", "one", "two", hedges=True, story=story))
        await until_called(two)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert (one.cancelled, two.cancelled) == (1, 1)
    assert sorted(spent.model for spent in story.spent) == ["one:one-1", "two:two-1"]


@pytest.mark.req("P5")
async def test_it_is_off_unless_set_and_only_for_calls_that_hedge(tmp_path: Path) -> None:
    slow = ScriptedTurn(text="at last", delay_s=0.05)
    one, two = model("one", [slow, slow]), model("two")
    async with open_calls(tmp_path, one, two) as rig:
        await rig.call("hello", "one", "two", hedges=True)
    async with open_calls(tmp_path, one, two, settings=HEDGE) as rig:
        await rig.call("hello", "one", "two")

    assert two.calls == []
