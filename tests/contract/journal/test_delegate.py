"""The tool `delegate` on a real store: one subagent per call, whatever happens; J14, J8, J9, J11."""

import asyncio
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from hermes.message.parts import ToolResultPart
from hermes.message.session_key import graph_name
from hermes.ports.tool import ToolContext, ToolTraits
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, open_rig, some

ROOT = Path(__file__).resolve().parents[3]
HELPERS = {
    "AGENTS__MAIN__NAME": "Main",
    "AGENTS__DIGGER__DESCRIPTION": "Digs.",
    "TOOLS__DELEGATE_TO": '["digger"]',
}


def delegating(task: str, **more: str) -> str:
    """Return a message that makes the scripted model delegate."""
    return f"please [[tool:delegate {json.dumps({'task': task, **more})}]]"


def results(rig: Rig) -> list[str]:
    """Return the tool results as the model's last call was shown them."""
    parts = [part for one in rig.model.calls[-1].request.messages for part in one.parts]
    return [part.text for part in parts if isinstance(part, ToolResultPart)]


@pytest.mark.req("J14", "G4")
async def test_j14_a_task_runs_on_a_lane_of_its_own_and_its_chat_is_linked(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        message_id = await rig.say(delegating("small question"))

        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == ["#1 small question"]
        child = (await rig.timeline(f"{message_id}.1")).message
        assert child is not None
        assert child.lane == f"{rig.lane()}/{message_id}.1"
        graph = rig.store.graphs.open(graph_name(rig.lane(), 0))
        (link,) = graph.links()
        assert link.child == graph_name(child.lane, 0)
        assert link.tool_call_id == "call_1_0"


@pytest.mark.req("J14")
async def test_j14_another_agent_answers_where_the_settings_name_it(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True, settings=HELPERS) as rig:
        message_id = await rig.say(delegating("dig", agent="digger"))
        assert await rig.outcome(message_id) == "answered"
        child = await rig.timeline(f"{message_id}.1")
        assert child.interaction is not None
        assert child.interaction["agent"] == "digger"

        await rig.answer(delegating("dig", agent="main"))
        assert "do not fit" in results(rig)[-1]


def subagent(*turns: ScriptedTurn) -> Script:
    """Return a script: whoever is asked delegates, and the subagent has these turns."""

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.last_text == "the task":
            return turns[min(len(seen.tool_results), len(turns) - 1)]
        if seen.tool_results:
            return ScriptedTurn(text="all done")
        return ScriptedTurn(tools=(ToolUse("delegate", '{"task":"the task"}'),))

    return script


@pytest.mark.req("J14", "A8")
async def test_j14_a_subagent_without_an_answer_is_a_failure_that_the_model_is_told(
    tmp_path: Path,
) -> None:
    script = subagent(ScriptedTurn(fault="status", status=400))
    async with open_rig(tmp_path, own_tools=True, script=script) as rig:
        assert await rig.answer("please look into it") == "all done"

        (told,) = results(rig)
        assert told.startswith("the subagent did not get to an answer (failed): ")


@pytest.mark.req("J11", "J14", "A24")
async def test_j11_a_subagent_costs_no_credit_of_its_own_and_its_calls_are_the_persons(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        message_id = await rig.say(delegating("small question"))
        assert await rig.outcome(message_id) == "answered"
        child = await rig.timeline(f"{message_id}.1")
        assert child.message is not None

        assert [line["kind"] for line in (await rig.timeline(message_id)).ledger] == ["capture"]
        assert child.ledger == ()
        ann = child.message.person_id
        used = [step.usage for one in (await rig.timeline(message_id), child) for step in one.steps]
        rows = await rig.store.spend.report("person", first_day="1970-01-01", last_day="2999-01-01")
        (row,) = [row for row in rows if row.name == ann]
        assert row.calls == sum(usage.tokens_in > 0 for usage in used) == 3


@pytest.mark.req("J9", "J14")
@pytest.mark.parametrize(("word", "runs"), [("approve", 1), ("deny", 0)])
async def test_j9_a_task_goes_on_once_a_person_has_decided_what_its_subagent_wants(
    tmp_path: Path, word: str, runs: int
) -> None:
    danger = RunTool("danger", traits=ToolTraits(needs_approval=True))
    asks = subagent(ScriptedTurn(tools=(ToolUse("danger"),)), ScriptedTurn(text="dared"))
    async with open_rig(tmp_path, own_tools=True, tools=(danger,), script=asks) as rig:
        message_id = await rig.say("please look into it")
        lane = f"{rig.lane()}/{message_id}.1"
        await rig.until(some(lambda: rig.store.approvals.waiting(lane)))
        approval = await rig.store.approvals.waiting(lane)
        assert approval is not None
        await rig.answer(f"/{word} {approval.id}")

        assert await rig.outcome(message_id) == "answered"
        assert (results(rig), danger.runs) == (["dared"], runs)


@pytest.mark.req("J9", "J14")
@pytest.mark.parametrize(("word", "runs"), [("/approve", 1), ("/deny", 0)])
async def test_j9_a_word_without_an_id_is_for_the_subagent_if_nothing_else_waits(
    tmp_path: Path, word: str, runs: int
) -> None:
    danger = RunTool("danger", traits=ToolTraits(needs_approval=True))
    asks = subagent(ScriptedTurn(tools=(ToolUse("danger"),)), ScriptedTurn(text="dared"))
    async with open_rig(tmp_path, own_tools=True, tools=(danger,), script=asks) as rig:
        message_id = await rig.say("please look into it")
        await rig.until(some(lambda: rig.store.approvals.waiting_around(rig.lane())))
        await rig.answer(word)

        assert await rig.outcome(message_id) == "answered"
        assert (results(rig), danger.runs) == (["dared"], runs)


@pytest.mark.req("J9", "J14", "J8")
async def test_j9_a_subagent_that_waits_for_a_person_is_waited_for_over_a_restart(
    tmp_path: Path,
) -> None:
    clock, danger = ManualClock(), RunTool("danger", traits=ToolTraits(needs_approval=True))
    asks = subagent(ScriptedTurn(tools=(ToolUse("danger"),)), ScriptedTurn(text="dared"))
    opening = partial(open_rig, tmp_path, own_tools=True, tools=(danger,), script=asks, clock=clock)
    async with opening() as rig:
        message_id = await rig.say("please look into it")
        lane = f"{rig.lane()}/{message_id}.1"
        await rig.until(some(lambda: rig.store.approvals.waiting(lane)))

    async with opening() as rig:
        approval = await rig.store.approvals.waiting(lane)
        assert approval is not None
        await rig.answer(f"/approve {approval.id}")

        assert await rig.outcome(message_id) == "answered"
        assert (results(rig), danger.runs) == (["dared"], 1)
        assert await rig.store.timeline(f"{message_id}.2") is None


@pytest.mark.req("J12", "J14")
async def test_j14_a_stop_reaches_the_subagent_at_once(tmp_path: Path) -> None:
    script = subagent(ScriptedTurn(fault="hang"))
    async with open_rig(tmp_path, own_tools=True, script=script) as rig:
        message_id = await rig.say("please look into it")
        await rig.until(lambda: len(rig.model.calls) == 2)
        await rig.answer("/stop")

        assert await rig.outcome(message_id) == "interrupted"
        child = (await rig.timeline(f"{message_id}.1")).message
        assert child is not None
        assert await rig.outcome(child.id) == "interrupted"
        (link,) = rig.store.graphs.open(graph_name(rig.lane(), 0)).links()
        assert link.child == graph_name(child.lane, 0)


@pytest.mark.req("J12", "J14")
async def test_j14_a_subagent_that_starts_after_the_stop_of_its_parent_does_not_run(
    tmp_path: Path,
) -> None:
    stopped = asyncio.Event()

    async def start_late(context: ToolContext) -> str:
        await stopped.wait()
        return await context.run_child("look into it", "")

    late = RunTool("late", start_late)
    async with open_rig(tmp_path, tools=(late,)) as rig:
        message_id = await rig.say("[[tool:late]]")
        await rig.until(lambda: late.runs == 1)
        rig.core.lanes.interrupt(rig.lane(), "m_stop", message_id=message_id)
        stopped.set()

        assert await rig.outcome(message_id) == "interrupted"
        child = (await rig.timeline(f"{message_id}.1")).message
        assert child is not None
        assert await rig.outcome(child.id) == "interrupted"
        assert len(rig.model.calls) == 1


@pytest.mark.req("J14", "A9")
async def test_j14_tasks_of_one_answer_run_side_by_side(tmp_path: Path) -> None:
    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.last_text in ("one", "two"):
            return ScriptedTurn(text=f"did {seen.last_text}")
        if seen.tool_results:
            return ScriptedTurn(text="all done")
        tasks = [ToolUse("delegate", json.dumps({"task": task})) for task in ("one", "two")]
        return ScriptedTurn(tools=tuple(tasks))

    async with open_rig(tmp_path, own_tools=True, script=script) as rig:
        message_id = await rig.say("please look into both")
        assert await rig.outcome(message_id) == "answered"

        assert results(rig) == ["did one", "did two"]
        lanes = [(await rig.timeline(f"{message_id}.{number}")).message for number in (1, 2)]
        assert [one.outcome for one in lanes if one is not None] == ["answered", "answered"]


@pytest.mark.req("J8", "J9")
async def test_j9_a_person_is_asked_once_for_a_call_that_is_run_again(tmp_path: Path) -> None:
    stuck = asyncio.Event()
    traits = ToolTraits(needs_approval=True, idempotent=True)
    clock = ManualClock()
    hanging = RunTool("danger", lambda _: stuck.wait(), traits=traits)
    async with open_rig(tmp_path, clock=clock, tools=(hanging,)) as rig:
        message_id = await rig.say("[[tool:danger]]")
        assert await rig.outcome(message_id) == "parked"
        await rig.answer("/approve")
        await rig.until(lambda: hanging.runs == 1)

    again = RunTool("danger", traits=traits)
    async with open_rig(tmp_path, clock=clock, tools=(again,)) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert again.runs == 1


@pytest.mark.req("J8", "J14", "G4")
async def test_j8_a_tool_that_is_not_repeated_keeps_the_link_to_its_subagents(
    tmp_path: Path,
) -> None:
    async def act(context: ToolContext) -> str:
        await context.run_child("first", "")
        return await context.run_child("[[hang]]", "")

    clock, tools = ManualClock(), (RunTool("twice", act),)
    async with open_rig(tmp_path, clock=clock, tools=tools) as rig:
        message_id = await rig.say("[[tool:twice]]")
        await rig.until(lambda: len(rig.model.calls) == 3)

    def script(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text=f"answer {number}")

    async with open_rig(tmp_path, clock=clock, tools=tools, script=script) as rig:
        assert await rig.outcome(message_id) == "answered"
        links = rig.store.graphs.open(graph_name(rig.lane(), 0)).links()
        lane = f"{rig.lane()}/{message_id}"
        assert [link.child for link in links] == [f"{lane}.1#0", f"{lane}.1.2#0"]
        assert {link.metadata["state"] for link in links} == {"unknown"}


@pytest.mark.req("J8", "J14", "W27")
@pytest.mark.parametrize("first", [1, 2])
def test_j8_killed_anywhere_messages_are_sent_once_and_tasks_given_once(
    tmp_path: Path, first: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.journal.own_tool_kills", str(tmp_path), str(first)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )

    assert done.returncode == 0, done.stderr[-4_000:]
    told = re.search(r"(\d+) kills", done.stdout)
    assert told is not None
    assert int(told[1]) >= 20
