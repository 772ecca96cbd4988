"""W5, J7: a turn that was cut off after a tool's result says so to the model, once, and to nobody else."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from hermes.graph.exports.message_reader import read_message
from hermes.message.parts import ToolResultPart
from hermes.message.session_key import graph_name
from hermes.ports.tool import ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, open_rig

CUT_OFF = "cut off by a restart after this result"


def hanging(seen: SeenConversation, _number: int) -> ScriptedTurn:
    """Ask for a tool, and never get to the answer."""
    if seen.tool_results:
        return ScriptedTurn(fault="hang")
    return ScriptedTurn(tools=(ToolUse("look"),))


def further(seen: SeenConversation, _number: int) -> ScriptedTurn:
    """Ask for one more tool, and never get to the answer."""
    if len(seen.tool_results) > 1:
        return ScriptedTurn(fault="hang")
    return ScriptedTurn(tools=(ToolUse("look"),))


def plain(seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text=f"done: {seen.last_text}")


def results(rig: Rig, number: int) -> list[str]:
    """Return the results that the model was given with a call."""
    messages = rig.model.calls[number].request.messages
    parts = [part for message in messages for part in message.parts]
    return [part.text for part in parts if isinstance(part, ToolResultPart)]


@pytest.mark.req("W5", "J7", "W21")
async def test_w5_the_model_is_told_once_that_a_restart_cut_the_turn_off_after_a_result(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    tool = RunTool("look")
    async with open_rig(tmp_path, clock=clock, tools=(tool,), script=hanging) as rig:
        said = await rig.say("please look")
        await rig.until(lambda: len(rig.model.calls) == 2)
        assert results(rig, 1) == ["look ran"]
    # when it is resumed, cut off again, and resumed once more
    async with open_rig(tmp_path, clock=clock, tools=(tool,), script=hanging) as rig:
        await rig.until(lambda: len(rig.model.calls) == 1)
        (told,) = results(rig, 0)
        assert told.startswith("look ran\n\n[")
        assert told.count(CUT_OFF) == 1
        first = rig.model.calls[0].request
    async with open_rig(tmp_path, clock=clock, tools=(tool,), script=plain) as rig:
        assert await rig.outcome(said) == "answered"
        assert rig.model.calls[0].request == first
        assert tool.runs == 1

        # then nobody sees it, and the session goes on with the same bytes
        result = await rig.store.inbox.result(said)
        assert result is not None
        assert result.text == "done: please look"
        assert "cut off" not in msgspec.json.encode(result).decode()
        await rig.answer("thanks")
        assert rig.model.calls[1].request.messages[: len(first.messages)] == first.messages


@pytest.mark.req("W5", "J7")
async def test_w5_a_turn_that_is_cut_off_further_on_keeps_what_it_was_told_before(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    tool = RunTool("look")
    async with open_rig(tmp_path, clock=clock, tools=(tool,), script=hanging) as rig:
        said = await rig.say("please look")
        await rig.until(lambda: len(rig.model.calls) == 2)
    async with open_rig(tmp_path, clock=clock, tools=(tool,), script=further) as rig:
        await rig.until(lambda: len(rig.model.calls) == 2)
        first, _ = results(rig, 1)
        shown = rig.model.calls[0].request.messages
    async with open_rig(tmp_path, clock=clock, tools=(tool,), script=plain) as rig:
        assert await rig.outcome(said) == "answered"
        assert rig.model.calls[0].request.messages[: len(shown)] == shown
        assert results(rig, 0)[0] == first
        assert [one.count(CUT_OFF) for one in results(rig, 0)] == [1, 1]


@pytest.mark.req("W5", "G7")
async def test_w5_what_is_exported_for_training_is_what_the_model_read(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, tools=(RunTool("look"),), script=hanging) as rig:
        said = await rig.say("please look")
        await rig.until(lambda: len(rig.model.calls) == 2)
    async with open_rig(tmp_path, clock=clock, tools=(RunTool("look"),), script=plain) as rig:
        await rig.outcome(said)
        graph = rig.store.graphs.open(graph_name(rig.lane(), 0))
        kept = [read_message(dict(message)) for message in graph]

        assert [one.text for line in kept for one in line.results] == results(rig, 0)


@pytest.mark.req("W5", "J8")
async def test_w5_nothing_is_told_while_a_tool_is_still_to_be_run(tmp_path: Path) -> None:
    clock = ManualClock()
    idempotent = ToolTraits(idempotent=True)
    slow = RunTool("wait", lambda _: asyncio.Event().wait(), traits=idempotent)
    async with open_rig(tmp_path, clock=clock, tools=(RunTool("look"), slow)) as rig:
        said = await rig.say("[[tool:look]] [[tool:wait]] both")
        await rig.until(lambda: slow.runs == 1)
    both = (RunTool("look"), RunTool("wait", traits=idempotent))
    async with open_rig(tmp_path, clock=clock, tools=both) as rig:
        assert await rig.outcome(said) == "answered"
        assert results(rig, 0) == ["look ran", "wait ran"]


@pytest.mark.req("W5", "J8")
async def test_w5_a_result_that_was_lost_tells_enough_itself(tmp_path: Path) -> None:
    clock = ManualClock()
    slow = RunTool("pay", lambda _: asyncio.Event().wait())
    async with open_rig(tmp_path, clock=clock, tools=(slow,)) as rig:
        said = await rig.say("[[tool:pay]] once")
        await rig.until(lambda: slow.runs == 1)
    async with open_rig(tmp_path, clock=clock, tools=(RunTool("pay"),)) as rig:
        assert await rig.outcome(said) == "answered"
        (told,) = results(rig, 0)
        assert told.startswith("outcome unknown")
        assert CUT_OFF not in told


@pytest.mark.req("W5", "J9")
async def test_w5_a_word_that_was_waited_for_is_no_restart(tmp_path: Path) -> None:
    asking = RunTool("pay", traits=ToolTraits(needs_approval=True))
    async with open_rig(tmp_path, tools=(RunTool("look"), asking)) as rig:
        said = await rig.say("[[tool:look]] [[tool:pay]] both")
        assert await rig.outcome(said) == "parked"
        await rig.answer("/approve")
        assert await rig.outcome(said) == "answered"
        assert results(rig, 1) == ["look ran", "pay ran"]
