"""W18, W23, J14: `/background` runs beside the conversation, is paid, kept and told; nothing is lost."""

import asyncio
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from hermes.ports.tool import ToolTraits
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, RunTool, equals, open_rig

ASKING = ToolTraits(needs_approval=True)
HEAD = "In the background: look around\n\n"


def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
    """Do a task with a tool; answer everything else at once."""
    if seen.last_text.startswith("look") and not seen.tool_results:
        return ScriptedTurn(tools=(ToolUse("look"),))
    return ScriptedTurn(text="looked" if seen.tool_results else f"yes, {seen.last_text}")


class Gate:
    """A tool that waits until it is let through."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.tool = RunTool("look", lambda _: self.open.wait())


async def texts(rig: Rig, platform: str = "push") -> list[str]:
    lane = rig.lane("ann", platform)
    view = await rig.store.turns.view(lane)
    said = await rig.store.transcripts.history(lane, epoch=view.epoch, head=view.head)
    return [message.text for message in said.messages]


async def task_of(rig: Rig, command: str) -> str:
    (event,) = (e for e in (await rig.timeline(command)).events if e.kind == "background")
    return str(event.data["task"])


@pytest.mark.req("W18", "J10", "J15")
async def test_the_session_stays_free_and_the_result_is_delivered_and_told(tmp_path: Path) -> None:
    gate = Gate()
    async with open_rig(tmp_path, script=script, tools=(gate.tool,)) as rig:
        await rig.answer("hello", platform="push")
        command = await rig.say("/background look around", platform="push")
        assert await rig.outcome(command) == "answered"
        task = await task_of(rig, command)
        await rig.until(lambda: gate.tool.runs == 1)

        assert await rig.answer("are you free?", platform="push") == "yes, are you free?"
        assert "In the background: look around" in await rig.answer("/status", platform="push")
        assert [m.text for m in rig.model.calls[1].request.messages] == ["look around"]

        gate.open.set()
        assert await rig.outcome(task) == "answered"
        await rig.until(lambda: f"{HEAD}looked" in rig.push.texts("ann"))
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        said = ["hello", "yes, hello", "are you free?", "yes, are you free?", f"{HEAD}looked"]
        assert await texts(rig) == said
        assert [line["kind"] for line in (await rig.timeline(task)).ledger] == ["capture"]
        assert (await rig.timeline(command)).ledger == ()
        assert "background" not in await rig.answer("/status", platform="push")


@pytest.mark.req("W18", "J6", "J12")
async def test_stop_leaves_it_alone_and_stop_all_does_not(tmp_path: Path) -> None:
    gate = Gate()
    async with open_rig(tmp_path, script=script, tools=(gate.tool,)) as rig:
        task = await task_of(rig, await done(rig, "/background look around"))
        await rig.until(lambda: gate.tool.runs == 1)
        talk = await rig.say("look here", platform="push")
        await rig.until(lambda: gate.tool.runs == 2)

        told = await rig.answer("/stop", platform="push")

        assert told == "Stopped. 1 background task left alone; /stop all stops everything."
        gate.open.set()
        assert await rig.outcome(talk) == "interrupted"
        assert await rig.outcome(task) == "answered"

        gate.open.clear()
        task = await task_of(rig, await done(rig, "/background look around"))
        await rig.until(lambda: gate.tool.runs == 3)
        assert await rig.answer("/stop all", platform="push") == "Stopped."
        gate.open.set()
        assert await rig.outcome(task) == "interrupted"
        await rig.until(lambda: f"{HEAD}(stopped)" in rig.push.texts("ann"))
        assert await rig.answer("/stop all", platform="push") == "Nothing is running."


async def done(rig: Rig, command: str) -> str:
    message_id = await rig.say(command, platform="push")
    assert await rig.outcome(message_id) == "answered"
    return message_id


@pytest.mark.req("W18", "J12")
async def test_stop_all_reaches_a_task_that_has_not_begun(tmp_path: Path) -> None:
    gate = Gate()
    one_place = {"LANES__MAX_RUNNING": "1"}
    async with open_rig(tmp_path, script=script, tools=(gate.tool,), settings=one_place) as rig:
        talk = await rig.say("look here", platform="push")
        await rig.until(lambda: gate.tool.runs == 1)
        task = await task_of(rig, await done(rig, "/background look around"))
        assert await rig.store.inbox.state(task) == "new"

        await rig.answer("/stop all", platform="push")
        gate.open.set()

        assert await rig.outcome(talk) == "interrupted"
        assert await rig.outcome(task) == "interrupted"
        assert gate.tool.runs == 1


@pytest.mark.req("W23", "W18")
async def test_a_session_with_a_task_is_not_reset_and_new_leaves_the_task(tmp_path: Path) -> None:
    gate = Gate()
    async with open_rig(tmp_path, script=script, tools=(gate.tool,)) as rig:
        await rig.answer("hello", platform="push")
        task = await task_of(rig, await done(rig, "/background look around"))
        await rig.until(lambda: gate.tool.runs == 1)
        lane = rig.lane("ann", "push")

        ended = await rig.store.sessions.end(lane, epoch=0, reason="idle", at=rig.clock.now())

        assert not ended
        await rig.answer("/new", platform="push")
        gate.open.set()
        assert await rig.outcome(task) == "answered"
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        assert await texts(rig) == [f"{HEAD}looked"]
        assert await rig.store.sessions.end(lane, epoch=1, reason="idle", at=rig.clock.now())


@pytest.mark.req("W18")
async def test_what_cannot_be_done_in_the_background_is_refused(tmp_path: Path) -> None:
    gate = Gate()
    two = {"BUSY__MAX_BACKGROUND": "2"}
    async with open_rig(tmp_path, script=script, tools=(gate.tool,), settings=two) as rig:
        assert "Write /background and what" in await rig.answer("/background", platform="push")
        assert "command cannot" in await rig.answer("/background /new", platform="push")
        await done(rig, "/background look around")
        await done(rig, "/background look again")
        assert "busy.max_background" in await rig.answer("/background look", platform="push")
        assert len(await rig.store.turns.below(rig.lane("ann", "push"))) == 2
        gate.open.set()
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        await done(rig, "/background look once more")


@pytest.mark.req("W18", "J6")
async def test_the_model_that_was_chosen_for_the_session_does_the_task(tmp_path: Path) -> None:
    gate = Gate()
    gate.open.set()
    async with open_rig(tmp_path, script=script, tools=(gate.tool,)) as rig:
        await rig.answer("/reasoning high", platform="push")
        task = await task_of(rig, await done(rig, "/background look around"))
        assert await rig.outcome(task) == "answered"
        assert {call.request.reasoning for call in rig.model.calls} == {"high"}


@pytest.mark.req("J8", "J10", "J14")
async def test_a_failure_is_told_and_not_charged(tmp_path: Path) -> None:
    def failing(seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(fault="status", status=400)

    async with open_rig(tmp_path, script=failing) as rig:
        task = await task_of(rig, await done(rig, "/background look around"))
        assert await rig.outcome(task) == "failed"
        await rig.until(lambda: any(t.startswith(HEAD) for t in rig.push.texts("ann")))
        assert (await rig.timeline(task)).ledger == ()


@pytest.mark.req("J8", "J10", "J17")
def test_whenever_it_is_killed_the_result_comes_once(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "tests.contract.journal.background_kills", str(tmp_path)]

    ended = subprocess.run(program, capture_output=True, text=True, timeout=180, check=False)

    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout.splitlines()[-1].removesuffix(" kills")) > 8


@pytest.mark.req("J9", "W18")
async def test_a_word_without_an_id_is_for_the_task_if_nothing_else_waits(tmp_path: Path) -> None:
    look = RunTool("look", traits=ASKING)
    async with open_rig(tmp_path, script=script, tools=(look,)) as rig:
        assert (
            await rig.answer("/approve", platform="push") == "Nothing waits for your approval here."
        )
        task = await task_of(rig, await done(rig, "/background look around"))
        await rig.until(equals(lambda: rig.store.inbox.state(task), "parked"))
        # somebody else's chat, whose name begins alike, is another
        assert "Nothing waits" in await rig.answer("/approve", platform="push", chat="an")
        assert "Nothing waits" in await rig.answer("/deny", platform="push", chat="ann/2")

        assert await rig.answer("/approve", platform="push") == "Approved."
        assert await rig.outcome(task) == "answered"
        assert look.runs == 1


@pytest.mark.req("J9", "W18")
async def test_where_several_things_wait_they_are_told_with_their_ids(tmp_path: Path) -> None:
    look = RunTool("look", traits=ASKING)
    async with open_rig(tmp_path, script=script, tools=(look,)) as rig:
        tasks = [
            await task_of(rig, await done(rig, f"/background look {n}")) for n in ("one", "two")
        ]
        for task in tasks:
            await rig.until(partial(is_parked, rig, task))
        talk = await rig.say("look here", platform="push")
        await rig.until(partial(is_parked, rig, talk))
        first, second, own = await rig.store.approvals.waiting_around(rig.lane(platform="push"))

        assert (await rig.answer("/deny", platform="push")).splitlines() == [
            "Several things wait for your approval: answer /approve ID or /deny ID.",
            f"- {first.id}: look (in the background)",
            f"- {second.id}: look (in the background)",
            f"- {own.id}: look",
        ]
        assert look.runs == 0
        assert await rig.answer(f"/approve {second.id}", platform="push") == "Approved."
        assert await rig.answer(f"/deny {own.id}", platform="push") == "Denied."
        assert await rig.answer("/deny", platform="push") == "Denied."
        for message_id in (*tasks, talk):
            assert await rig.outcome(message_id) == "answered"
        assert look.runs == 1


async def is_parked(rig: Rig, message_id: str) -> bool:
    return await rig.store.inbox.state(message_id) == "parked"
