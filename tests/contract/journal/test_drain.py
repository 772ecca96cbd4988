"""W3 and the watchdog of turns: what still happens while a core drains, and what is cut."""

import asyncio
from pathlib import Path

import pytest

from hermes.pipeline.resume import TOLD
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, open_rig

# Beyond the limit of a model call with its waits, and the patience after it.
STUCK_S = 15 + 20 + 600 + 300 + 1


async def told_of(rig: Rig, message_id: str) -> list[str]:
    """Return what whoever watches a message is told until the process tells nothing more."""
    return [
        one.text async for one in rig.core.gateway_api.watch(message_id) if one.kind == "status"
    ]


@pytest.mark.req("W3", "J14")
async def test_w3_a_turn_that_delegates_while_the_core_drains_gets_its_subagent(
    tmp_path: Path,
) -> None:
    gate = asyncio.Event()

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.last_text == "the task":
            return ScriptedTurn(text="found it")
        if len(seen.tool_results) == 2:
            return ScriptedTurn(text="all done")
        if seen.tool_results:
            return ScriptedTurn(tools=(ToolUse("delegate", '{"task":"the task"}'),))
        return ScriptedTurn(tools=(ToolUse("hold"),))

    hold = RunTool("hold", lambda _context: gate.wait())
    async with open_rig(tmp_path, own_tools=True, tools=(hold,), script=script) as rig:
        message_id = await rig.say("please")
        await rig.until(lambda: hold.runs == 1)
        draining = asyncio.create_task(rig.drain(20))
        await rig.until(lambda: rig.core.inbox.draining)
        gate.set()

        assert await draining == 0
        record = await rig.store.inbox.get(message_id)
        assert record is not None
        assert record.outcome == "answered"


@pytest.mark.req("W3")
async def test_w3_a_turn_that_takes_long_is_told_of_the_stop_and_hurry_ends_the_waiting(
    tmp_path: Path,
) -> None:
    at_once = {"PROCESS__TELL_STOP_AFTER_S": "0"}
    async with open_rig(tmp_path, settings=at_once) as rig:
        hurry = asyncio.Event()
        pulled = await rig.say("[[hang]]", chat="ann")
        await rig.say("[[hang]]", chat="bob", platform="push")
        await rig.until(lambda: len(rig.model.calls) == 2)
        watching = asyncio.create_task(told_of(rig, pulled))
        await rig.until(lambda: not watching.done())
        draining = asyncio.create_task(rig.drain(600, hurry=hurry))
        await rig.until(lambda: rig.push.texts("bob") == [TOLD])

        hurry.set()

        assert await draining == 2
        rig.watch.close()
        assert await watching == [TOLD]
        record = await rig.store.inbox.get(pulled)
        assert record is not None
        assert record.state == "running", "it goes on at the next start"


@pytest.mark.req("W3")
async def test_w3_nobody_is_told_of_a_stop_that_their_turn_does_not_notice(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.say("[[slow:0.05]] quick", chat="bob", platform="push")
        await rig.until(lambda: len(rig.model.calls) == 1)

        assert await rig.drain(20) == 0

        assert rig.push.texts("bob") == ["#1 [[slow:0.05]] quick"], "sent before the end"


@pytest.mark.req("W5", "J10")
async def test_a_turn_that_makes_no_step_beyond_every_limit_is_ended_with_a_reason(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        message_id = await rig.say("[[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 1)
        now = rig.clock.monotonic()
        rig.core.lanes.end_stuck(now)
        rig.core.lanes.end_stuck(now + STUCK_S - 2)
        assert rig.core.lanes.running() == 1

        rig.core.lanes.end_stuck(now + STUCK_S)

        assert await rig.outcome(message_id) == "failed"
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert "process.stuck_turn_s" in (result.reason or "")
        assert await rig.answer("hello") == "#1 hello"


@pytest.mark.req("W5", "J10")
async def test_a_turn_behind_a_stuck_one_is_cut_off_by_a_stop_and_goes_on_at_the_next_start(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.say("[[hang]]")
        await rig.until(lambda: len(rig.model.calls) == 1)
        behind = await rig.say("[[hang]] too")
        now = rig.clock.monotonic()
        rig.core.lanes.end_stuck(now)
        rig.core.lanes.end_stuck(now + STUCK_S)
        await rig.until(lambda: len(rig.model.calls) == 2)

        assert await rig.drain(0) == 1

        assert await rig.store.inbox.state(behind) == "running"


@pytest.mark.req("W5")
async def test_a_turn_that_moves_is_not_stuck_however_long_it_takes(tmp_path: Path) -> None:
    gates = [asyncio.Event(), asyncio.Event()]

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if len(seen.tool_results) == 2:
            return ScriptedTurn(text="done")
        return ScriptedTurn(tools=(ToolUse("hold"),))

    hold = RunTool("hold", lambda _context: gates[hold.runs - 1].wait())
    async with open_rig(tmp_path, tools=(hold,), script=script) as rig:
        message_id = await rig.say("please")
        await rig.until(lambda: hold.runs == 1)
        now = rig.clock.monotonic()
        rig.core.lanes.end_stuck(now)
        gates[0].set()
        await rig.until(lambda: hold.runs == 2)
        rig.core.lanes.end_stuck(now + STUCK_S)
        gates[1].set()

        assert await rig.outcome(message_id) == "answered"


@pytest.mark.req("W5", "J14")
async def test_a_turn_that_waits_for_its_subagent_is_not_stuck_its_subagent_is(
    tmp_path: Path,
) -> None:
    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.last_text == "the task":
            return ScriptedTurn(fault="hang")
        if seen.tool_results:
            return ScriptedTurn(text="without it then")
        return ScriptedTurn(tools=(ToolUse("delegate", '{"task":"the task"}'),))

    async with open_rig(tmp_path, own_tools=True, script=script) as rig:
        message_id = await rig.say("please")
        await rig.until(lambda: len(rig.model.calls) == 2)
        now = rig.clock.monotonic()
        rig.core.lanes.end_stuck(now)

        rig.core.lanes.end_stuck(now + 10 * STUCK_S)

        assert await rig.outcome(message_id) == "answered"
        assert (await rig.timeline(f"{message_id}.1")).message.outcome == "failed"  # type: ignore[union-attr]
