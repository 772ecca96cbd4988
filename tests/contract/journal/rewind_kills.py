"""Kills a process all over a turn that goes back in its conversation, and looks what is left.

A program of its own, so that it can fork: `python -m tests.contract.journal.rewind_kills FOLDER
COMMAND` kills at one failpoint after another and prints how many kills there were. What is on disk
after a kill is what was there before the command or what is there after it; the next process does
the command once.
"""

import asyncio
import shutil
import sys
from itertools import count
from pathlib import Path

from hermes import failpoints
from hermes.message.session_key import graph_name
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.tool_kills import in_child

NAME = "the-one"
BEFORE = ["one", "again", "two", "again"]
EDIT = "two, changed"
AFTER = {
    EDIT: ["one", "again", "two, changed", "other"],
    "/undo": ["one", "again"],
    "/retry": ["one", "again", "two", "other"],
    "/branch fork": BEFORE,
    "/branch to begun": ["one", "again"],
}
STATES = {
    "/branch fork": {"begun": 2, "fork": 4},
    "/branch to begun": {"begun": 2, "state-1": 4},
}


def main(folder: Path, command: str) -> int:
    """Kill at one failpoint after another until one is never reached."""
    begun = folder / "begun"
    begun.mkdir()
    # What is made once in a process is made here, for all the children.
    asyncio.run(_prepare(begun))
    for number in count(1):
        home = folder / str(number)
        shutil.copytree(begun, home)
        was_killed = in_child(lambda home=home, n=number: _act(home, command, kill_at=n))
        in_child(lambda home=home: _look_and_finish(home, command))
        if not was_killed:
            sys.stdout.write(f"{number - 1} kills\n")
            return 0
    raise AssertionError


def _script(seen: SeenConversation, _number: int) -> ScriptedTurn:
    del seen
    return ScriptedTurn(text="again")


def _other(seen: SeenConversation, _number: int) -> ScriptedTurn:
    del seen
    return ScriptedTurn(text="other")


async def _prepare(home: Path) -> None:
    async with open_rig(home, script=_script) as rig:
        await rig.answer("one")
        await rig.answer("/branch begun")
        await rig.outcome(await rig.say("two", name="the-two"))


async def _say(rig: Rig, command: str) -> str:
    # Said again under its name, an earlier message is only named.
    replaces = await rig.say("two", name="the-two") if command == EDIT else ""
    return await rig.say(command, name=NAME, replaces=replaces)


async def _act(home: Path, command: str, *, kill_at: int) -> None:
    failpoints.arm_from(f"*:{kill_at}")
    async with open_rig(home, script=_other, sending=False) as rig:
        await rig.outcome(await _say(rig, command))


async def _look_and_finish(home: Path, command: str) -> None:
    await _look(home, command)
    await _finish(home, command)


async def _look(home: Path, command: str) -> None:
    async with open_rig(home, script=_other, start=False, sending=False) as rig:
        now = await _texts(rig), await rig.store.transcripts.states(rig.lane(), epoch=0)
        after = AFTER[command], STATES.get(command, {"begun": 2})
        assert now in ((BEFORE, {"begun": 2}), after), now


async def _finish(home: Path, command: str) -> None:
    async with open_rig(home, script=_other) as rig:
        # The sender that heard no answer says it again.
        message_id = await _say(rig, command)
        assert await rig.outcome(message_id) == "answered"
        assert await _texts(rig) == AFTER[command]
        states = await rig.store.transcripts.states(rig.lane(), epoch=0)
        assert states == STATES.get(command, {"begun": 2})
        name = graph_name(rig.lane(), 0)
        assert len(rig.store.graphs.open(name).versions()) == 2 + (command != "/branch fork")
        assert list(rig.store.graphs.check(name)) == []
        for branch in ("main", *states):
            assert rig.store.graphs.open(name, branch=branch).verify().problems == ()
        charged = [line["kind"] for line in (await rig.timeline(message_id)).ledger]
        assert charged == (["capture"] if command in ("/retry", EDIT) else [])


async def _texts(rig: Rig) -> list[str]:
    said = await rig.store.transcripts.history(rig.lane(), epoch=0, head=99)
    return [message.text for message in said.messages]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
