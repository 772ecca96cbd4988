"""Walking the plan: who is tried after which failure, and what the listener sees of it."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from hermes.errors import (
    Overloaded,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.message.parts import text_of, tool_calls_of
from hermes.ports.provider import ToolChoice, ToolSpec
from hermes.testing.model_script import ScriptedTurn, ToolUse
from tests.contract.calls.rig import Story, ask, model, open_calls, until_called


def broken(**turn: object) -> list[ScriptedTurn]:
    return [ScriptedTurn(**turn)]  # type: ignore[arg-type]


@pytest.mark.req("A23", "P5")
@pytest.mark.parametrize(
    "turn",
    [
        {"fault": "status", "status": 503},
        {"fault": "status", "status": 429},
        {"fault": "status", "status": 429, "retry_after": 600.0},
        {"fault": "status", "status": 404},
        {"fault": "cut"},
        {"fault": "truncate"},
        {"text": ""},
    ],
    ids=["503", "429", "429 for too long", "404", "cut", "truncated", "empty"],
)
async def test_before_the_first_output_any_failure_moves_on(
    tmp_path: Path, turn: dict[str, object]
) -> None:
    one, two = model("one", broken(**turn)), model("two")
    async with open_calls(tmp_path, one, two) as rig:
        story = await rig.call("hello", "one", "two", wait_s=5.0)

    assert story.kinds == ["CallStart", "CallFailure", "CallStart", "TextDelta", "FullAnswer"]
    assert story.answer.candidate.provider == "two"
    assert text_of(story.answer.end.parts) == "#1 hello"
    assert story.spent[-1].model == "two:two-1"


@pytest.mark.req("A23", "P5")
async def test_a_call_that_breaks_off_moves_on_while_nothing_was_shown(tmp_path: Path) -> None:
    cut = broken(tools=(ToolUse("book", '{"people": '),))
    tools = (ToolSpec("book", "", msgspec.Raw(b"{}")),)
    one, two, alone = model("one", cut), model("two"), model("alone", cut)
    async with open_calls(tmp_path, one, two, alone) as rig:
        story = await rig.call(ask("hello", tools=tools), "one", "two")
        last = await rig.call(ask("hello", tools=tools), "alone")

    assert story.kinds == ["CallStart", "CallFailure", "CallStart", "TextDelta", "FullAnswer"]
    # Nobody is left to ask: the tool tells the model what is wrong with it.
    assert tool_calls_of(last.answer.end.parts)[0].arguments == '{"people": '


@pytest.mark.req("A23")
async def test_a_hang_before_the_first_output_moves_on_in_time(tmp_path: Path) -> None:
    one, two = model("one", broken(fault="hang")), model("two")
    quick = {"TURNS__OUTPUT_TIMEOUT_S": "0.05"}
    async with open_calls(tmp_path, one, two, settings=quick) as rig:
        story = await rig.call("hello", "one", "two")

    assert story.kinds == ["CallStart", "CallFailure", "CallStart", "TextDelta", "FullAnswer"]
    assert one.cancelled == 1


@pytest.mark.req("A23", "P5")
async def test_after_the_first_output_the_failure_is_final(tmp_path: Path) -> None:
    one = model("one", broken(text="half an answer", deltas=2, fault="truncate", after=1))
    two = model("two")
    story = Story()
    async with open_calls(tmp_path, one, two) as rig:
        with pytest.raises(StreamTruncated):
            await rig.call("hello", "one", "two", story=story)

    assert story.kinds == ["CallStart", "TextDelta"]
    assert two.calls == []
    # What was written before it broke off is on the bill, as far as it can be told.
    assert [(spent.model, spent.usage.tokens_out) for spent in story.spent] == [("one:one-1", 2)]


@pytest.mark.req("A23")
async def test_a_request_that_everybody_would_refuse_does_not_burn_the_chain(
    tmp_path: Path,
) -> None:
    def refuse(*_: object) -> ScriptedTurn:
        raise ProviderRejected("messages: must not be empty", everywhere=True)

    one, two = model("one", refuse), model("two")
    async with open_calls(tmp_path, one, two) as rig:
        with pytest.raises(ProviderRejected, match="must not be empty"):
            await rig.call("hello", "one", "two")

    assert two.calls == []


@pytest.mark.req("A23")
async def test_a_short_wait_is_waited_for(tmp_path: Path) -> None:
    one = model("one", broken(fault="status", status=429, retry_after=0.01))
    two = model("two")
    async with open_calls(tmp_path, one, two) as rig:
        story = await rig.call("hello", "one", "two", wait_s=1.0)

    assert story.answer.candidate.provider == "one"
    assert len(one.calls) == 2
    assert two.calls == []


@pytest.mark.req("A23")
async def test_a_service_that_asks_for_a_pause_gets_it(tmp_path: Path) -> None:
    one = model("one", broken(fault="status", status=429, retry_after=0.3))
    async with open_calls(tmp_path, one) as rig:
        start = asyncio.get_running_loop().time()
        await rig.call("hello", "one", wait_s=1.0)
        took = asyncio.get_running_loop().time() - start

    assert took >= 0.29


@pytest.mark.req("A23")
async def test_when_all_fail_the_error_is_the_last_cause(tmp_path: Path) -> None:
    one = model("one", broken(fault="status", status=500))
    two = model("two", broken(fault="status", status=529))
    story = Story()
    async with open_calls(tmp_path, one, two) as rig:
        with pytest.raises(ProviderUnavailable, match="529"):
            await rig.call("hello", "one", "two", story=story)

    assert story.kinds == ["CallStart", "CallFailure", "CallStart"]
    assert story.spent == ()


@pytest.mark.req("A21")
async def test_a_call_that_finds_no_place_is_told_so_and_tries_nobody_else(tmp_path: Path) -> None:
    one = model("one", broken(text="x", fault="hang", after=1))
    two = model("two")
    full = {"TURNS__MAX_CONCURRENT_CALLS": "1", "TURNS__CALL_WAIT_S": "0.02"}
    async with open_calls(tmp_path, one, two, settings=full) as rig:
        task = asyncio.create_task(rig.call("hold", "one"))
        await until_called(one)
        with pytest.raises(Overloaded):
            await rig.call("hello", "two", "one")
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        story = await rig.call("hello", "two")

    assert story.answer.candidate.provider == "two"


@pytest.mark.req("A23")
async def test_silence_in_the_middle_of_an_answer_ends_it(tmp_path: Path) -> None:
    one = model("one", broken(text="half of it", deltas=2, fault="hang", after=1))
    quick = {"TURNS__OUTPUT_TIMEOUT_S": "0.05"}
    async with open_calls(tmp_path, one, settings=quick) as rig:
        with pytest.raises(ProviderTimeout):
            await rig.call("hello", "one")


@pytest.mark.req("A23")
async def test_a_model_that_is_seen_to_work_may_be_silent(tmp_path: Path) -> None:
    slow = [ScriptedTurn(text="at last", delay_s=0.2)]
    quick = {"TURNS__OUTPUT_TIMEOUT_S": "0.05"}
    async with open_calls(tmp_path, model("one", slow, watched=True), settings=quick) as rig:
        story = await rig.call("hello", "one")
    assert text_of(story.answer.end.parts) == "at last"

    limited = {**quick, "TURNS__CALL_LIMIT_S": "0.1"}
    async with open_calls(tmp_path, model("one", slow, watched=True), settings=limited) as rig:
        with pytest.raises(ProviderTimeout):
            await rig.call("hello", "one")


@pytest.mark.req("A23")
async def test_a_caller_who_waits_for_the_whole_has_seen_nothing_of_a_broken_answer(
    tmp_path: Path,
) -> None:
    one = model("one", broken(text="half an answer", deltas=2, fault="truncate", after=1))
    async with open_calls(tmp_path, one, model("two")) as rig:
        story = await rig.call("hello", "one", "two", whole=True)

    assert story.kinds == ["CallStart", "CallFailure", "CallStart", "FullAnswer"]
    assert [spent.model for spent in story.spent] == ["one:one-1", "two:two-1"]


@pytest.mark.req("A23")
async def test_a_service_that_is_down_is_not_waited_for_while_another_is_there(
    tmp_path: Path,
) -> None:
    down = [ScriptedTurn(fault="status", status=503, retry_after=0.01)]
    one, two = model("one", list(down)), model("two")
    async with open_calls(tmp_path, one, two) as rig:
        story = await rig.call("hello", "one", "two", wait_s=5.0)
        alone = model("three", list(down))
    async with open_calls(tmp_path, alone) as rig:
        waited = await rig.call("hello", "three", wait_s=5.0)

    assert story.answer.candidate.provider == "two"
    assert len(one.calls) == 1
    assert waited.kinds[0:3] == ["CallStart", "CallFailure", "CallStart"]


@pytest.mark.req("M5")
async def test_a_model_that_cannot_be_made_to_use_a_tool_is_told_to_in_words(
    tmp_path: Path,
) -> None:
    tool = ToolSpec("look", "looks", msgspec.Raw(b'{"type":"object"}'))
    said = '{"tool_calls":[{"name":"look","arguments":{}}]}'
    one = model("one", [ScriptedTurn(text=said)], forces_tools=False)
    async with open_calls(tmp_path, one) as rig:
        request = ask("hello", tools=(tool,), tool_choice=ToolChoice("required"))
        story = await rig.call(request, "one")

    assert story.answer.end.stop_reason == "tool_calls"
    assert one.calls[0].request.tools == ()
