"""Tasks that agents give each other, on a real store; M11, J8, J14, G4."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.message.parts import TextPart, ToolResultPart
from hermes.message.session_key import graph_name
from hermes.message.source import Source
from hermes.ports.keys import CallerKey
from hermes.ports.tool import ToolTraits
from hermes.ports.turns import MessageRecord
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, open_rig, some

TEAM = {
    "AGENTS__MAIN__NAME": "Main",
    "AGENTS__MAIN__DELEGATES": '["digger", "writer"]',
    "AGENTS__DIGGER__DESCRIPTION": "Digs.",
    "AGENTS__DIGGER__DELEGATES": '["*"]',
    "AGENTS__WRITER__DESCRIPTION": "Writes.",
    "AGENTS__LONER__DESCRIPTION": "Is in no team.",
}
team_rig = partial(open_rig, own_tools=True, settings=TEAM)
ROOT = Path(__file__).resolve().parents[3]
# Any of the tasks in a reply or a tool result.
Told = dict[str, str]


def call(tool: str, **arguments: object) -> ToolUse:
    """Return a tool call."""
    return ToolUse(tool, json.dumps(arguments))


def delegating(*workspaces: str, task: str = "the task", tool: str = "delegate_task") -> str:
    """Return a message that makes the scripted model delegate."""
    use = call(tool, workspaces=list(workspaces), task=task)
    return f"please [[tool:{use.name} {use.arguments}]]"


def results(rig: Rig) -> list[Told]:
    """Return the tasks in the tool results that the model's last call was shown."""
    parts = [part for one in rig.model.calls[-1].request.messages for part in one.parts]
    texts = [part.text for part in parts if isinstance(part, ToolResultPart)]
    return [task for text in texts for task in json.loads(text)["tasks"]]


def tasks_in(reply: str) -> list[Told]:
    """Return the tasks in the reply to a command."""
    found: list[Told] = json.loads(reply)["tasks"]
    return found


async def child_of(rig: Rig, message_id: str, number: str = "1") -> MessageRecord:
    """Return the message of a task by the number that its turn gave it."""
    message = (await rig.timeline(f"{message_id}.{number}")).message
    assert message is not None
    return message


async def program_says(
    rig: Rig,
    text: str,
    *,
    token: str = "t_1",
    may_delegate: bool = True,
    platform: str = "rest",
    name: str | None = None,
    key: str | None = None,
    sender: str = "ann",
) -> str:
    """Accept a message as a program sends it; return its id."""
    event = MessageEvent(
        account="default",
        route="api",
        external_id=name or make_id("x"),
        source=Source(platform=platform, chat_id=sender, user_id=sender),
        parts=(TextPart(text),),
        at=rig.clock.now(),
        token=token,
        key=key,
        may_delegate=may_delegate,
    )
    return (await rig.core.inbox.accept(event)).message_id


async def reply_to(rig: Rig, message_id: str) -> str:
    """Return the reply of a message once it has ended."""
    await rig.outcome(message_id)
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    return result.text


async def ask(rig: Rig, text: str, *, token: str = "t_1", sender: str = "ann") -> list[Told]:
    """Send a command of a program that may delegate; return the tasks in its reply."""
    return tasks_in(await reply_to(rig, await program_says(rig, text, token=token, sender=sender)))


def at_the_workers(work: Callable[[SeenConversation], ScriptedTurn]) -> Script:
    """Return a script: whoever gets `the task` does the work, all others answer by their text."""

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.last_text == "the task":
            return work(seen)
        if seen.tool_results:
            return ScriptedTurn(text="all done")
        if seen.last_text.startswith("delegate "):
            _, tool, *names = seen.last_text.split()
            return ScriptedTurn(tools=(call(tool, workspaces=names, task="the task"),))
        return ScriptedTurn(text=f"#{number} {seen.last_text}")

    return script


HANGING = at_the_workers(lambda _: ScriptedTurn(fault="hang"))


@pytest.mark.req("M11", "G4", "J14")
async def test_m11_several_agents_get_a_task_at_once_and_their_chats_are_linked(
    tmp_path: Path,
) -> None:
    async with team_rig(tmp_path) as rig:
        message_id = await rig.say(delegating("digger", "writer"))

        assert await rig.outcome(message_id) == "answered"
        digger, writer = await child_of(rig, message_id), await child_of(rig, message_id, "1.2")
        assert results(rig) == [
            {
                "workspace": name,
                "task_id": one.id,
                "state": "done",
                "outcome": "answered",
                "reply": "#1 the task",
            }
            for name, one in (("digger", digger), ("writer", writer))
        ]
        links = rig.store.graphs.open(graph_name(rig.lane(), 0)).links()
        assert [link.child for link in links] == [
            graph_name(one.lane, 0) for one in (digger, writer)
        ]
        agents = [(await rig.timeline(one.id)).message for one in (digger, writer)]
        assert [one.event.agent for one in agents if one and one.event] == ["digger", "writer"]


@pytest.mark.req("M11")
async def test_m11_an_agent_is_told_its_team_and_one_without_gets_no_such_tools(
    tmp_path: Path,
) -> None:
    async with team_rig(tmp_path) as rig:
        await rig.answer("hello")
        with_team = rig.model.calls[-1].request
        await rig.outcome(await rig.say("hello", chat="bob", agent="loner"))
        without = rig.model.calls[-1].request

        (block,) = [text for text in with_team.system if "delegate_task" in text]
        assert block.splitlines()[1:] == ["- digger: Digs.", "- writer: Writes."]
        assert not any("delegate_task" in text for text in without.system)


@pytest.mark.req("M11")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("loner", "'loner' is not in your team; you may delegate to: digger, writer"),
        ("nobody", "'nobody' is not in your team; you may delegate to: digger, writer"),
        ("main", "'main' is not in your team; you may delegate to: digger, writer"),
    ],
)
async def test_m11_a_task_for_somebody_outside_the_team_is_an_error_and_nothing_is_given(
    tmp_path: Path, name: str, problem: str
) -> None:
    async with team_rig(tmp_path) as rig:
        message_id = await rig.say(delegating(name))

        assert await rig.outcome(message_id) == "answered"
        assert results(rig) == [{"workspace": name, "error": problem}]
        assert await rig.store.timeline(f"{message_id}.1") is None


@pytest.mark.req("M11")
async def test_m11_a_circle_and_oneself_are_refused(tmp_path: Path) -> None:
    told = dict[str, str]()

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.last_text == "go round":
            if not seen.tool_results:
                uses = [
                    call("delegate_task", workspaces=[one], task="x") for one in ("main", "digger")
                ]
                return ScriptedTurn(tools=tuple(uses))
            for text in seen.tool_results:
                (task,) = tasks_in(text)
                told[task["workspace"]] = task["error"]
            return ScriptedTurn(text="could not")
        if seen.tool_results:
            return ScriptedTurn(text="all done")
        return ScriptedTurn(tools=(call("delegate_task", workspaces=["digger"], task="go round"),))

    async with team_rig(tmp_path, script=script) as rig:
        assert await rig.answer("begin") == "all done"
        assert told == {
            "main": "'main' waits for this task itself: that would be a circle",
            "digger": "'digger' is the workspace itself: name another one",
        }


@pytest.mark.req("M11", "J14")
async def test_m11_depth_and_width_have_limits(tmp_path: Path) -> None:
    limits = {**TEAM, "TOOLS__DELEGATE_DEPTH": "0", "TOOLS__DELEGATE_WIDTH": "1"}
    async with team_rig(tmp_path, settings=limits) as rig:
        await rig.answer(delegating("digger"))
        assert results(rig)[0]["error"] == (
            "tasks may be nested 0 deep at most (tools.delegate_depth): do it yourself"
        )
        message_id = await program_says(rig, "delegate_task_async digger,writer 'the task'")
        (told,) = tasks_in(await reply_to(rig, message_id))
        assert told["error"] == "at most 1 workspaces get a task at once: 2 are named"
        assert await rig.outcome(message_id) == "failed"


@pytest.mark.req("M11")
async def test_m11_a_conversation_has_so_many_open_tasks_and_no_more(tmp_path: Path) -> None:
    limits = {**TEAM, "TOOLS__DELEGATE_OPEN": "2"}
    async with team_rig(tmp_path, settings=limits, script=HANGING) as rig:
        text = (
            "delegate_task_async digger 'the task' AND delegate_task_async writer,loner 'the task'"
        )
        told = await ask(rig, text)

        assert sorted(one["workspace"] for one in told if "task_id" in one) in (
            ["digger", "writer"],
            ["loner", "writer"],
        )
        (refused,) = [one for one in told if "task_id" not in one]
        assert refused["error"] == (
            "2 tasks of this conversation have not ended (tools.delegate_open): wait for some, or "
            "cancel them"
        )


@pytest.mark.req("M11")
async def test_m11_tasks_that_were_left_alone_count_as_waiting_messages_of_their_person(
    tmp_path: Path,
) -> None:
    limits = {**TEAM, "INBOX__MAX_WAITING_EACH": "2"}
    clock = ManualClock()
    async with team_rig(tmp_path, settings=limits, script=HANGING, clock=clock) as rig:
        first = await ask(rig, "delegate_task_async digger 'the task'")
        second = await ask(rig, "delegate_task_async writer 'the task'")

        assert [one.get("error") for one in first] == [None]
        assert "as many as inbox.max_waiting_each allows" in second[0]["error"]
    async with team_rig(tmp_path, settings=limits, script=HANGING, clock=clock) as rig:
        assert rig.store.inbox.shares().in_all(is_command=False) == 1


@pytest.mark.req("M11")
async def test_m11_a_failed_task_is_told_as_failed_beside_one_that_was_answered(
    tmp_path: Path,
) -> None:
    settings = {**TEAM, "AGENTS__WRITER__BUDGET_DAY_USD": "0"}

    def work(_seen: SeenConversation) -> ScriptedTurn:
        return ScriptedTurn(text="dug")

    async with team_rig(tmp_path, settings=settings, script=at_the_workers(work)) as rig:
        assert await rig.answer("delegate delegate_task digger writer") == "all done"

        digger, writer = results(rig)
        assert (digger["outcome"], digger["reply"]) == ("answered", "dug")
        assert (writer["state"], writer["outcome"]) == ("done", "failed")
        assert writer["error"].startswith("the task failed: There is no budget left for this.")


@pytest.mark.req("M11")
async def test_m11_a_task_that_hangs_is_stopped_when_its_time_is_up(tmp_path: Path) -> None:
    settings = {**TEAM, "TOOLS__DELEGATE_LIMIT_S": "0.3"}
    async with team_rig(tmp_path, settings=settings, script=HANGING) as rig:
        message_id = await rig.say("delegate delegate_task digger")
        await rig.until(lambda: len(rig.model.calls) == 2)
        rig.clock.advance(1)

        assert await rig.outcome(message_id) == "answered"
        (told,) = results(rig)
        assert told["outcome"] == "failed"
        assert "took longer than I may work" in told["error"]
        assert (await child_of(rig, message_id)).outcome == "failed"


@pytest.mark.req("M11", "J9")
async def test_m11_a_task_that_waits_for_a_person_is_stopped_when_its_time_is_up(
    tmp_path: Path,
) -> None:
    settings = {**TEAM, "TOOLS__DELEGATE_LIMIT_S": "0.1"}
    danger = RunTool("danger", traits=ToolTraits(needs_approval=True))
    script = at_the_workers(lambda _: ScriptedTurn(tools=(ToolUse("danger"),)))
    async with team_rig(tmp_path, settings=settings, script=script, tools=(danger,)) as rig:
        message_id = await rig.say("delegate delegate_task digger")

        assert await rig.outcome(message_id) == "answered"
        (told,) = results(rig)
        assert told["error"].startswith("the task gave no answer in its time and was stopped")
        assert await rig.outcome((await child_of(rig, message_id)).id) == "interrupted"
        assert danger.runs == 0


@pytest.mark.req("M11")
async def test_m11_a_task_that_was_left_alone_goes_on_and_its_answer_is_got_later(
    tmp_path: Path,
) -> None:
    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.last_text == "the task":
            return ScriptedTurn(text="dug", delay_s=0.2)
        if seen.last_text.startswith("look at "):
            if seen.tool_results and "dug" in seen.tool_results[-1]:
                return ScriptedTurn(text="it is there")
            task_id = seen.last_text.removeprefix("look at ")
            return ScriptedTurn(tools=(call("task_result", task_id=task_id, wait_s=20),))
        if seen.tool_results:
            return ScriptedTurn(text="given")
        given = call("delegate_task_async", workspaces=["digger"], task="the task")
        return ScriptedTurn(tools=(given,))

    async with team_rig(tmp_path, script=script) as rig:
        message_id = await rig.say("begin")
        assert await rig.outcome(message_id) == "answered"
        (given,) = results(rig)
        assert given["state"] == "new"
        task = await child_of(rig, message_id)
        assert (task.id, task.lane) == (given["task_id"], f"{rig.lane()}/{message_id}.1.task")

        assert await rig.answer(f"look at {task.id}") == "it is there"
        assert results(rig)[-1] == {
            "workspace": "digger",
            "task_id": task.id,
            "state": "done",
            "outcome": "answered",
            "reply": "dug",
        }


@pytest.mark.req("M11")
async def test_m11_nobody_sees_the_tasks_of_another_conversation_or_person(tmp_path: Path) -> None:
    async with team_rig(tmp_path) as rig:
        (task,) = await ask(rig, "delegate_task digger 'the task'")
        task_id = task["task_id"]
        looking = f"[[tool:task_result {json.dumps({'task_id': task_id})}]]"

        await rig.answer(looking)
        own = results_texts(rig)
        await rig.answer(looking, chat="bob")
        others = results_texts(rig)
        by_other_token = await ask(rig, f"task_result {task_id}", token="t_2")
        by_other_person = await ask(rig, f"task_cancel {task_id}", sender="bob")
        by_owner = await ask(rig, f"task_status {task_id}")

        unknown = f"no task {task_id!r} was given from here"
        assert "#1 the task" in own[-1]
        assert others[-1].startswith(unknown)
        assert by_other_token[0]["error"].startswith(unknown)
        assert by_other_person[0]["error"].startswith(unknown)
        assert (by_owner[0]["state"], "reply" in by_owner[0]) == ("done", False)


def results_texts(rig: Rig) -> list[str]:
    """Return the tool results that the model's last call was shown."""
    parts = [part for one in rig.model.calls[-1].request.messages for part in one.parts]
    return [part.text for part in parts if isinstance(part, ToolResultPart)]


@pytest.mark.req("M11", "J12")
async def test_m11_a_cancelled_task_is_stopped_with_everything_below_it(tmp_path: Path) -> None:
    def work(seen: SeenConversation) -> ScriptedTurn:
        return ScriptedTurn(tools=(call("delegate_task", workspaces=["writer"], task="hang"),))

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.last_text == "hang":
            return ScriptedTurn(fault="hang")
        return at_the_workers(work)(seen, number)

    async with team_rig(tmp_path, script=script) as rig:
        (task,) = await ask(rig, "delegate_task_async digger 'the task'")
        await rig.until(lambda: len(rig.model.calls) == 2)
        inner = await child_of(rig, task["task_id"])

        (told,) = await ask(rig, f"task_cancel {task['task_id']}")

        assert (told["state"], told["outcome"]) == ("done", "interrupted")
        assert told["error"] == "the task was stopped before it ended"
        assert await rig.outcome(inner.id) == "interrupted"
        (again,) = await ask(rig, f"task_cancel {task['task_id']}")
        assert again == told


@pytest.mark.req("M11", "J9")
async def test_m11_a_task_that_waits_for_a_person_can_be_cancelled(tmp_path: Path) -> None:
    danger = RunTool("danger", traits=ToolTraits(needs_approval=True))
    script = at_the_workers(lambda _: ScriptedTurn(tools=(ToolUse("danger"),)))
    async with team_rig(tmp_path, script=script, tools=(danger,)) as rig:
        (task,) = await ask(rig, "delegate_task_async digger 'the task'")
        lane = f"{rig.lane()}/{(await child(rig, task)).external_id}.task"
        await rig.until(some(lambda: rig.store.approvals.waiting(lane)))

        (told,) = await ask(rig, f"task_cancel {task['task_id']}")

        assert (told["outcome"], danger.runs) == ("interrupted", 0)


async def child(rig: Rig, task: Told) -> MessageRecord:
    """Return the message of a task."""
    record = await rig.store.inbox.get(task["task_id"])
    assert record is not None
    return record


@pytest.mark.req("M11", "J12", "J14")
@pytest.mark.parametrize("tool", ["delegate_task", "delegate_task_async"])
async def test_m11_a_stopped_turn_stops_its_tasks(tmp_path: Path, tool: str) -> None:
    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.tool_results:
            return ScriptedTurn(fault="hang")
        return HANGING(seen, number)

    async with team_rig(tmp_path, script=script) as rig:
        message_id = await rig.say(f"delegate {tool} digger")
        await rig.until(lambda: len(rig.model.calls) == (2 if tool == "delegate_task" else 3))
        task = await child_of(rig, message_id)
        await rig.answer("/stop")

        assert await rig.outcome(message_id) == "interrupted"
        assert await rig.outcome(task.id) == "interrupted"


@pytest.mark.req("M11", "J9", "J12")
@pytest.mark.parametrize("tool", ["delegate_task", "delegate_task_async"])
async def test_m11_a_stopped_turn_stops_its_task_that_waits_for_a_person(
    tmp_path: Path, tool: str
) -> None:
    danger = RunTool("danger", traits=ToolTraits(needs_approval=True))
    work = at_the_workers(lambda _: ScriptedTurn(tools=(ToolUse("danger"),)))

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.tool_results and seen.last_text != "the task":
            return ScriptedTurn(fault="hang")
        return work(seen, number)

    async with team_rig(tmp_path, script=script, tools=(danger,)) as rig:
        message_id = await rig.say(f"delegate {tool} digger")
        await rig.until(some(lambda: rig.store.approvals.waiting_around(rig.lane())))
        task = await child_of(rig, message_id)
        await rig.answer("/stop")

        assert await rig.outcome(message_id) == "interrupted"
        assert await rig.outcome(task.id) == "interrupted"
        assert await rig.store.approvals.waiting_around(rig.lane()) == ()
        assert danger.runs == 0


@pytest.mark.req("M11", "J8", "J12")
async def test_m11_a_turn_that_was_stopped_before_a_crash_stops_every_task_below_it(
    tmp_path: Path,
) -> None:
    clock = ManualClock()

    def work(seen: SeenConversation) -> ScriptedTurn:
        return ScriptedTurn(tools=(call("delegate_task", workspaces=["writer"], task="hang"),))

    def script(seen: SeenConversation, number: int) -> ScriptedTurn:
        if seen.last_text == "hang":
            return ScriptedTurn(fault="hang")
        return at_the_workers(work)(seen, number)

    async with team_rig(tmp_path, script=script, clock=clock) as rig:
        message_id = await rig.say("delegate delegate_task digger")
        await rig.until(lambda: len(rig.model.calls) == 3)
        task = await child_of(rig, message_id)
        inner = await child_of(rig, task.id)
        await rig.store.turns.interrupt(message_id, by="tasks/cancel")

    clock.advance(5)
    async with team_rig(tmp_path, script=HANGING, clock=clock) as rig:
        ids = (inner.id, task.id, message_id)
        assert [await rig.outcome(one) for one in ids] == ["interrupted"] * 3
        assert rig.model.calls == []


@pytest.mark.req("M11", "J12", "J14")
@pytest.mark.parametrize(("is_stopped", "outcome"), [(True, "interrupted"), (False, "answered")])
async def test_m11_a_task_that_waits_for_a_place_begins_unless_its_turn_was_stopped(
    tmp_path: Path, is_stopped: bool, outcome: str
) -> None:
    go = asyncio.Event()
    gate = RunTool("gate", lambda _: go.wait(), traits=ToolTraits(cancellable=True))

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.last_text == "the task":
            return ScriptedTurn(text="dug")
        given = call("delegate_task_async", workspaces=["digger"], task="the task")
        turns = (ScriptedTurn(tools=(given,)), ScriptedTurn(tools=(ToolUse("gate"),)))
        return (*turns, ScriptedTurn(text="all done"))[len(seen.tool_results)]

    one_place = {**TEAM, "LANES__MAX_RUNNING": "1"}
    async with team_rig(tmp_path, settings=one_place, script=script, tools=(gate,)) as rig:
        message_id = await rig.say("begin")
        await rig.until(lambda: gate.runs == 1)
        task = await child_of(rig, message_id)
        if is_stopped:
            await rig.answer("/stop")
        go.set()

        assert await rig.outcome(message_id) == outcome
        assert await rig.outcome(task.id) == outcome


@pytest.mark.req("M11", "J12")
async def test_m11_a_stop_of_a_later_turn_leaves_earlier_tasks_alone_and_stop_all_does_not(
    tmp_path: Path,
) -> None:
    async with team_rig(tmp_path, script=HANGING) as rig:
        (task,) = await ask(rig, "delegate_task_async digger 'the task'")
        await rig.until(lambda: len(rig.model.calls) == 1)

        assert "In the background: the task" in await rig.answer("/status")
        assert await rig.answer("/stop") == (
            "Nothing is running. 1 background task left alone; /stop all stops everything."
        )
        assert (await child(rig, task)).outcome is None
        assert await rig.answer("/stop all") == "Stopped."
        assert await rig.outcome(task["task_id"]) == "interrupted"


@pytest.mark.req("M11", "J8")
async def test_m11_a_turn_that_is_cut_off_while_it_waits_finds_its_tasks_again(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with team_rig(tmp_path, script=HANGING, clock=clock) as rig:
        message_id = await rig.say("delegate delegate_task digger writer")
        await rig.until(lambda: len(rig.model.calls) == 3)
        given = [(await child_of(rig, message_id, one)).id for one in ("1", "1.2")]

    clock.advance(5)
    answers = at_the_workers(lambda _: ScriptedTurn(text="dug"))
    async with team_rig(tmp_path, script=answers, clock=clock) as rig:
        assert await rig.outcome(message_id) == "answered"
        assert [(one["task_id"], one["reply"]) for one in results(rig)] == [
            (task_id, "dug") for task_id in given
        ]
        assert await rig.store.timeline(f"{message_id}.2") is None


@pytest.mark.req("M11", "J8")
async def test_m11_a_command_that_is_cut_off_while_it_waits_finds_its_tasks_again(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    text = "delegate_task digger 'the task' AND delegate_task_async writer 'the task'"
    async with team_rig(tmp_path, script=HANGING, clock=clock) as rig:
        message_id = await program_says(rig, text)
        await rig.until(lambda: len(rig.model.calls) == 2)
        given = [(await child_of(rig, message_id, one)).id for one in ("1", "2")]

    clock.advance(5)
    answers = at_the_workers(lambda _: ScriptedTurn(text="dug"))
    async with team_rig(tmp_path, script=answers, clock=clock) as rig:
        told = tasks_in(await reply_to(rig, message_id))
        assert [one["task_id"] for one in told] == given
        assert told[0]["reply"] == "dug"
        assert await rig.outcome(given[1]) == "answered"
        assert len(rig.model.calls) == 2


@pytest.mark.req("M11", "J11")
async def test_m11_the_person_who_asked_pays_for_every_task(tmp_path: Path) -> None:
    async with team_rig(tmp_path) as rig:
        (first,) = await ask(rig, "delegate_task digger 'the task'")
        message_id = await rig.say(delegating("digger", "writer"))
        assert await rig.outcome(message_id) == "answered"

        ann = (await child(rig, first)).person_id
        rows = await rig.store.spend.report("person", first_day="1970-01-01", last_day="2999-01-01")
        by_agent = await rig.store.spend.report(
            "agent", first_day="1970-01-01", last_day="2999-01-01"
        )
        assert [(row.name, row.calls) for row in rows] == [(ann, 5)]
        assert {row.name: row.calls for row in by_agent} == {"main": 2, "digger": 2, "writer": 1}
        assert [line["kind"] for line in (await rig.timeline(message_id)).ledger] == ["capture"]


@pytest.mark.req("M11")
@pytest.mark.parametrize("platform", ["rest", "push"])
async def test_m11_commands_need_the_right_and_are_only_text_without_it(
    tmp_path: Path, platform: str
) -> None:
    text = "delegate_task_async digger 'the task'"
    async with team_rig(tmp_path) as rig:
        by_person = await rig.say(text, platform=platform)
        assert await rig.outcome(by_person) == "answered"
        assert await rig.store.timeline(f"{by_person}.1") is None
        assert "#1 delegate_task_async digger" in await reply_to(rig, by_person)

        by_program = await program_says(rig, text, may_delegate=False, sender="carol")
        assert (await reply_to(rig, by_program)).startswith("This credential may not delegate:")
        assert await rig.outcome(by_program) == "refused"
        assert await rig.store.timeline(f"{by_program}.1") is None


@pytest.mark.req("M11")
async def test_m11_what_a_message_quotes_or_a_model_writes_is_no_command(tmp_path: Path) -> None:
    command = "delegate_task_async digger 'x'"

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.last_text == command:
            return ScriptedTurn(text=command)
        if seen.tool_results:
            return ScriptedTurn(text="all done")
        if seen.last_text == "hand on":
            return ScriptedTurn(tools=(call("delegate_task", workspaces=["digger"], task=command),))
        return ScriptedTurn(text="only text")

    async with team_rig(tmp_path, script=script) as rig:
        for text in (f"> {command}", f"Please do this: {command}", f"`{command}`"):
            assert await reply_to(rig, await program_says(rig, text)) == "only text"
        message_id = await program_says(rig, "hand on")
        assert await reply_to(rig, message_id) == "all done"

        task = await child_of(rig, message_id)
        assert await rig.store.timeline(f"{task.id}.1") is None
        assert await rig.store.turns.count_below(rig.lane()) == 0


@pytest.mark.req("M11")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("delegate_task nobody 'x'", "there is no workspace 'nobody'"),
        ("delegate_task main 'x'", "'main' is the workspace itself: name another one"),
        ("task_result m_none", "no task 'm_none' was given from here"),
    ],
)
async def test_m11_a_command_that_cannot_be_done_says_why(
    tmp_path: Path, text: str, problem: str
) -> None:
    async with team_rig(tmp_path) as rig:
        message_id = await program_says(rig, text)

        (told,) = tasks_in(await reply_to(rig, message_id))
        assert told["error"].startswith(problem)
        assert await rig.outcome(message_id) == "failed"


@pytest.mark.req("M11", "A22")
async def test_m11_a_key_reaches_the_agents_that_it_may_use_and_pays_for_the_tasks(
    tmp_path: Path,
) -> None:
    async with team_rig(tmp_path) as rig:
        for name, digest in (("k_1", b"1"), ("k_2", b"2")):
            key = CallerKey(
                id=name,
                label="",
                user="ann",
                person_id="",
                hint="",
                created_at=1.0,
                models=("agent:main", "agent:dig*"),
            )
            await rig.store.keys.add(key, digest=digest, user="ann")
        text = "delegate_task digger 'dig' AND delegate_task writer 'write'"

        told = tasks_in(await reply_to(rig, await program_says(rig, text, key="k_1", token="")))
        task_id = told[0]["task_id"]
        foreign = await program_says(rig, f"task_result {task_id}", key="k_2", token="")
        late = await program_says(rig, "delegate_task writer 'write'", key="k_gone", token="")
        rows = await rig.store.spend.report("key", first_day="1970-01-01", last_day="2999-01-01")

        assert told[0]["reply"] == "#1 dig"
        assert told[1]["error"] == "this key may not use the workspace 'writer'"
        assert [(row.name, row.calls) for row in rows] == [("k_1", 1)]
        (gone,) = tasks_in(await reply_to(rig, late))
        assert gone["error"] == "the key that this message came with was deleted"
        (unknown,) = tasks_in(await reply_to(rig, foreign))
        assert unknown["error"].startswith(f"no task {task_id!r} was given from here")


@pytest.mark.req("M11")
async def test_m11_half_a_command_is_refused_whole(tmp_path: Path) -> None:
    async with team_rig(tmp_path) as rig:
        message_id = await program_says(rig, "delegate_task_async digger 'one' AND then tell me")

        assert (await reply_to(rig, message_id)).startswith("Not a command from 'then tell me' on")
        assert await rig.outcome(message_id) == "refused"
        assert await rig.store.timeline(f"{message_id}.1") is None


@pytest.mark.req("M11", "J8", "W27")
@pytest.mark.parametrize(("how", "first"), [("tools", 1), ("tools", 3), ("commands", 2)])
def test_m11_killed_anywhere_every_task_is_given_and_answered_once(
    tmp_path: Path, how: str, first: int
) -> None:
    program = "tests.contract.journal.team_kills"
    done = subprocess.run(
        [sys.executable, "-m", program, str(tmp_path), str(first), how],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )

    assert done.returncode == 0, done.stderr[-4_000:]
    told = re.search(r"(\d+) kills", done.stdout)
    assert told is not None
    assert int(told[1]) >= 7
