"""Kills a process all over turns that give tasks and wait for them, and looks what is left.

A program of its own, so that it can fork: `python -m tests.contract.journal.team_kills FOLDER FIRST HOW`
kills at every fourth failpoint from the first one on and prints how many kills there were; each is
followed by a process that finishes the turn. The tasks are given by tools or, if HOW is `commands`, by a
message of a program. Whatever was cut off, each task is given once, answered once, and paid once.
"""

import asyncio
import json
import shutil
import sys
from itertools import count
from pathlib import Path

from hermes import failpoints
from hermes.message.session_key import graph_name
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.test_teams import program_says, team_rig
from tests.contract.journal.tool_kills import in_child

NAME = "the-one"
_STEP = 4
GIVEN = {"1": "digger", "1.2": "writer", "2": "digger"}
TEXT = "delegate_task digger,writer 'wait' AND delegate_task_async digger 'leave'"


def main(folder: Path, first: int, how: str) -> int:
    """Kill at one failpoint after another until one is never reached."""
    begun = folder / "begun"
    begun.mkdir()
    asyncio.run(_prepare(begun))
    for killed, number in enumerate(count(first, _STEP)):
        home = folder / str(number)
        shutil.copytree(begun, home)
        was_killed = in_child(lambda home=home, number=number: _act(home, how, kill_at=number))
        in_child(lambda home=home: _finish(home, how))
        if not was_killed:
            sys.stdout.write(f"{killed} kills\n")
            return 0
    raise AssertionError


def _script(seen: SeenConversation, _number: int) -> ScriptedTurn:
    if seen.last_text in ("wait", "leave"):
        return ScriptedTurn(text=f"did {seen.last_text}")
    if seen.tool_results:
        return ScriptedTurn(text="all done")
    waited = {"workspaces": ["digger", "writer"], "task": "wait"}
    left = {"workspaces": ["digger"], "task": "leave"}
    return ScriptedTurn(
        tools=(
            ToolUse("delegate_task", json.dumps(waited)),
            ToolUse("delegate_task_async", json.dumps(left)),
        )
    )


async def _prepare(home: Path) -> None:
    async with open_rig(home) as rig:
        await rig.answer("hello")


async def _say(rig: Rig, how: str) -> str:
    if how == "commands":
        return await program_says(rig, TEXT, name=NAME)
    return await rig.say("please look into it", name=NAME)


async def _act(home: Path, how: str, *, kill_at: int) -> None:
    failpoints.arm_from(f"*:{kill_at}")
    async with team_rig(home, script=_script) as rig:
        await rig.outcome(await _say(rig, how))
        await rig.until(lambda: rig.store.inbox.waiting() == 0)


async def _finish(home: Path, how: str) -> None:
    async with team_rig(home, script=_script) as rig:
        # The sender that heard no answer says it again.
        message_id = await _say(rig, how)
        assert await rig.outcome(message_id) == "answered"
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        await _check(rig, message_id, how)


async def _check(rig: Rig, message_id: str, how: str) -> None:
    lane = rig.lane()
    branch = await rig.store.turns.branch(lane, message_id, limit=100)
    found = {one.message.external_id.removeprefix(f"{message_id}."): one for one in branch}
    assert found.keys() == GIVEN.keys(), found.keys()
    for number, agent in GIVEN.items():
        task = found[number].message
        assert task.event is not None
        assert (task.event.agent, task.outcome) == (agent, "answered"), task
        result = await rig.store.inbox.result(task.id)
        assert result is not None
        assert result.text == ("did leave" if number == "2" else "did wait")
        graph = rig.store.graphs.open(graph_name(task.lane, 0))
        assert graph.verify().ok
        assert len(graph) == 2, list(graph)
    steps = (await rig.timeline(message_id)).steps
    assert all(step.state != "started" for step in steps), steps
    if how == "tools":
        links = rig.store.graphs.open(graph_name(lane, 0)).links()
        assert sorted(link.child or "" for link in links) == sorted(
            graph_name(one.message.lane, 0) for one in branch
        )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
