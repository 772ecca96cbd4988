"""Kills a process all over a task in the background, and looks what is left.

A program of its own, so that it can fork: `python -m tests.contract.journal.background_kills FOLDER`
kills at one failpoint after another and prints how many kills there were; each is followed by a
process that finishes the task. Whatever was cut off, there is one task, its result is sent once and
told to the session once, and the person pays once.
"""

import asyncio
import shutil
import sys
from itertools import count
from pathlib import Path

from hermes import failpoints
from hermes.message.session_key import graph_name, is_background
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.tool_kills import in_child

NAME = "the-one"
RESULT = "In the background: look around\n\nlooked"


def main(folder: Path) -> int:
    """Kill at one failpoint after another until one is never reached."""
    begun = folder / "begun"
    begun.mkdir()
    # What is made once in a process is made here, for all the children.
    asyncio.run(_prepare(begun))
    for number in count(1):
        home = folder / str(number)
        shutil.copytree(begun, home)
        was_killed = in_child(lambda home=home, number=number: _act(home, kill_at=number))
        in_child(lambda home=home: _finish(home))
        if not was_killed:
            sys.stdout.write(f"{number - 1} kills\n")
            return 0
    raise AssertionError


def _script(seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text="looked" if seen.last_text == "look around" else "hi")


async def _prepare(home: Path) -> None:
    async with open_rig(home, script=_script) as rig:
        await rig.answer("hello", platform="push")


async def _act(home: Path, *, kill_at: int) -> None:
    failpoints.arm_from(f"*:{kill_at}")
    async with open_rig(home, script=_script, sending=False) as rig:
        await rig.outcome(await rig.say("/background look around", name=NAME, platform="push"))
        await rig.until(lambda: rig.store.inbox.waiting() == 0)


async def _finish(home: Path) -> None:
    async with open_rig(home, script=_script) as rig:
        # The sender that heard no answer says it again.
        command = await rig.say("/background look around", name=NAME, platform="push")
        assert await rig.outcome(command) == "answered"
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        await rig.until(lambda: RESULT in rig.push.texts("ann"))
        await _check(rig, command)


async def _check(rig: Rig, command: str) -> None:
    assert rig.push.texts("ann").count(RESULT) == 1
    lane = rig.lane("ann", "push")
    said = await rig.store.transcripts.history(lane, epoch=0, head=99)
    assert [message.text for message in said.messages] == ["hello", "hi", RESULT]
    tasks = [e.data["task"] for e in (await rig.timeline(command)).events if e.kind == "background"]
    (task,) = set(tasks)
    story = await rig.timeline(str(task))
    assert story.message is not None
    assert is_background(story.message.lane)
    assert [line["kind"] for line in story.ledger] == ["capture"]
    assert rig.store.graphs.open(graph_name(story.message.lane, 0)).verify().ok
    assert rig.store.graphs.open(graph_name(lane, 0)).verify().ok


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
