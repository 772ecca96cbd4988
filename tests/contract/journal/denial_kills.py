"""Kills a process at every failpoint while a new message denies an approval, and looks what is true.

A program of its own, so that it can fork: `python -m tests.contract.journal.denial_kills FOLDER`
prints how many kills there were, and after how many of them the approval was denied already.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from hermes import failpoints
from hermes.ports.tool import ToolContext, ToolTraits
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.contract.journal.tool_kills import in_child

ASKED, FOLLOWING = "asked", "following"
_ASKING = ToolTraits(needs_approval=True)


def main(folder: Path) -> int:
    """Kill at the first failpoint, the second and so on, until one is never reached."""
    # What is made once in a process is made here, for all the children.
    asyncio.run(_converse(folder))
    for number in count(1):
        home = folder / str(number)
        home.mkdir()
        was_killed = in_child(lambda home=home, number=number: _converse(home, kill_at=number))
        in_child(lambda home=home: _look_and_finish(home))
        if not was_killed:
            denied = sum((home / "denied").exists() for home in folder.glob("[0-9]*"))
            sys.stdout.write(f"{number - 1} kills, {denied} denied\n")
            return 0
    raise AssertionError


def _tool(home: Path) -> RunTool:
    def act(_context: ToolContext) -> str:
        (home / "ran").touch()
        return "paid"

    return RunTool("pay", act, traits=_ASKING)


async def _say(rig: Rig) -> tuple[str, str]:
    parked = await rig.say("[[tool:pay]] please", name=ASKED)
    await rig.outcome(parked)
    following = await rig.say("never mind", name=FOLLOWING, denies=True)
    return parked, following


async def _converse(home: Path, *, kill_at: int = 0) -> None:
    async with open_rig(home, tools=(_tool(home),)) as rig:
        if kill_at:
            failpoints.arm_from(f"*:{kill_at}")
        _, following = await _say(rig)
        await rig.outcome(following)


async def _look_and_finish(home: Path) -> None:
    """A message is on disk with its denial, or neither is; whoever heard nothing says it again."""
    async with open_rig(home, tools=(_tool(home),), start=False) as rig:
        kept = await rig.store.timeline(FOLLOWING)
        asked = await rig.store.approvals.waiting(rig.lane())
        assert kept is None or asked is None, "the message is on disk, its denial is not"
        if kept is not None:
            (home / "denied").touch()
    async with open_rig(home, tools=(_tool(home),)) as rig:
        parked, following = await _say(rig)
        assert await rig.outcome(following) == "answered"
        assert await rig.outcome(parked) == "interrupted"
        assert not (home / "ran").exists()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
