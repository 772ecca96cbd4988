"""Kills a process at every failpoint of a turn whose tool asks, and looks what became of the answer.

A program of its own, so that it can fork: `python -m tests.contract.journal.question_kills FOLDER
POINT` prints how many kills there were, and how often the tool had to ask again; each is followed by
a process that finishes the turn. With a POINT, each process that is killed resumes a turn that was
killed there.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from hermes import failpoints
from hermes.ports.tool import Question, ToolContext, ToolTraits
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.contract.journal.tool_kills import in_child

ASK, FIRST, LAST = "[[tool:trip]] please", "oslo", "3"
SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["to", "days"],
}


def main(folder: Path, point: str) -> int:
    """Kill at the first failpoint, the second and so on, until one is never reached."""
    # What is made once in a process is made here, for all the children.
    asyncio.run(_converse(folder))
    for number in count(1):
        home = folder / str(number)
        home.mkdir()
        if point:
            assert in_child(lambda home=home: _converse(home, kill_at=f"{point}:1"))
        was_killed = in_child(lambda home=home, at=f"*:{number}": _converse(home, kill_at=at))
        in_child(lambda home=home: _converse(home))
        if not was_killed:
            again = sum(len(file.read_text()) - 1 for file in folder.glob("*/asked"))
            sys.stdout.write(f"{number - 1} kills, {again} asked again\n")
            return 0
    raise AssertionError


def _tool(home: Path) -> RunTool:
    """Return a tool that may be repeated, and leaves a mark each time it asks."""

    async def act(context: ToolContext) -> str:
        assert context.ask is not None
        with (home / "asked").open("a") as file:
            file.write("x")
        question = Question(text="Where to?", schema=SCHEMA, within_s=600.0)
        return f"trip: {await context.ask(question)}"

    return RunTool("trip", act, traits=ToolTraits(idempotent=True))


async def _converse(home: Path, *, kill_at: str = "") -> None:
    """Ask and answer; a sender that heard nothing says it again."""
    failpoints.arm_from(kill_at)
    async with open_rig(home, tools=(_tool(home),)) as rig:
        message_id = await rig.say(ASK, name="ask")
        told = [await _answer(rig, message_id, name) for name in (FIRST, LAST)]
        assert await rig.outcome(message_id) == "answered"
        assert told == ["days (a whole number)", "Thank you, I passed that on."], told
        await _check(rig, message_id)


async def _answer(rig: Rig, message_id: str, text: str) -> str:
    """Say a part of the answer once the tool has asked; return what the person is told."""
    shown = await rig.core.gateway_api.end(message_id)
    assert shown.kind in ("question", "done"), shown
    said = await rig.say(text, name=text)
    await rig.outcome(said)
    result = await rig.store.inbox.result(said)
    assert result is not None
    return result.text


async def _check(rig: Rig, message_id: str) -> None:
    timeline = await rig.timeline(message_id)
    result = await rig.store.inbox.result(message_id)
    assert result is not None
    assert "trip: {'to': 'oslo', 'days': 3}" in result.text, result.text
    (asked,) = await rig.store.approvals.questions_of(message_id)
    assert asked.row.state == "approved", asked
    assert [one.purpose for one in timeline.deliveries].count("notice") == 1, timeline.deliveries
    assert all(step.state != "started" for step in timeline.steps), timeline.steps


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
