"""Kills a process all over a turn that sends messages and delegates, and looks what is left.

A program of its own, so that it can fork: `python -m tests.contract.journal.own_tool_kills FOLDER
FIRST` kills at every second failpoint from the first one on and prints how many kills there were;
each is followed by a process that finishes the turn. Whatever was cut off, every message is sent
and mirrored once, and there is one subagent, linked to its call.
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
from tests.contract.journal.tool_kills import in_child

NAME = "the-one"
TASK = "have a look around"


def main(folder: Path, first: int) -> int:
    """Kill at one failpoint after another until one is never reached."""
    begun = folder / "begun"
    begun.mkdir()
    # What is made once in a process is made here, for all the children.
    asyncio.run(_prepare(begun))
    for killed, number in enumerate(count(first, 2)):
        home = folder / str(number)
        shutil.copytree(begun, home)
        was_killed = in_child(lambda home=home, number=number: _act(home, kill_at=number))
        in_child(lambda home=home: _finish(home))
        if not was_killed:
            sys.stdout.write(f"{killed} kills\n")
            return 0
    raise AssertionError


def _script(seen: SeenConversation, _number: int) -> ScriptedTurn:
    is_child = seen.last_text == TASK
    if seen.tool_results:
        return ScriptedTurn(text="looked" if is_child else "all done")
    own = ToolUse("send_message", json.dumps({"target": "push:ann", "text": "from below"}))
    if is_child:
        return ScriptedTurn(tools=(own,))
    above = ToolUse("send_message", json.dumps({"target": "push:ann", "text": "from above"}))
    return ScriptedTurn(tools=(above, ToolUse("delegate", json.dumps({"task": TASK}))))


async def _prepare(home: Path) -> None:
    async with open_rig(home) as rig:
        await rig.answer("hello", platform="push")
        ann = await rig.store.people.find("push", "ann")
        assert ann is not None
        await rig.answer("hello")
        await rig.store.users.link("rest", "ann", person_id=ann.id, at=1.0)


async def _act(home: Path, *, kill_at: int) -> None:
    failpoints.arm_from(f"*:{kill_at}")
    async with open_rig(home, script=_script, own_tools=True, sending=False) as rig:
        await rig.outcome(await rig.say("please look into it", name=NAME))
        await rig.until(lambda: rig.store.inbox.waiting() == 0)


async def _finish(home: Path) -> None:
    async with open_rig(home, script=_script, own_tools=True) as rig:
        # The sender that heard no answer says it again.
        message_id = await rig.say("please look into it", name=NAME)
        assert await rig.outcome(message_id) == "answered"
        await rig.until(lambda: rig.store.inbox.waiting() == 0)
        await rig.until(lambda: len(rig.push.texts("ann")) == 2)
        await _check(rig, message_id)


async def _check(rig: Rig, message_id: str) -> None:
    child = (await rig.timeline(f"{message_id}.2")).message
    assert child is not None
    assert child.outcome == "answered", child
    assert await rig.store.timeline(f"{message_id}.3") is None
    deliveries = [
        *(await rig.timeline(message_id)).deliveries,
        *(await rig.timeline(child.id)).deliveries,
    ]
    ids = [one.id for one in deliveries if one.purpose == "tool"]
    assert ids == [f"o_{message_id[2:]}.1", f"o_{child.id[2:]}.1"], ids
    assert sorted(rig.push.texts("ann")) == ["from above", "from below"]
    pushed = await rig.store.transcripts.history(rig.lane("ann", "push"), epoch=0, head=99)
    texts = [message.text for message in pushed.messages]
    assert sorted(texts) == sorted(["hello", "#1 hello", "from above", "from below"]), texts
    graph = rig.store.graphs.open(graph_name(rig.lane(), 1))
    assert [link.child for link in graph.links() if link.child] == [graph_name(child.lane, 0)]
    assert graph.verify().ok
    steps = (await rig.timeline(message_id)).steps
    assert all(step.state != "started" for step in steps), steps


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
