"""Kills a process at every failpoint of a turn whose tools run side by side, and looks what resumed.

A program of its own, so that it can fork: `python -m tests.contract.journal.tool_kills FOLDER`
prints how many kills there were, and how many results they lost for good; each is followed by a
process that finishes the turn.
"""

import asyncio
import os
import signal
import sys
from itertools import count
from pathlib import Path

from hermes import failpoints
from hermes.message.parts import ToolResultPart
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from hermes.tools import ToolContext, tool
from hermes.tools.function_tool import FunctionTool
from tests.contract.journal.rig import Rig, open_rig

NAME = "the-one"
CALLS = (
    ToolUse("once", '{"value":"a"}'),
    ToolUse("again", '{"value":"b"}'),
    ToolUse("once", '{"value":"c"}'),
)
_TICKS = 400


def main(folder: Path) -> int:
    """Kill at the first failpoint, the second and so on, until one is never reached."""
    # What is made once in a process is made here, for all the children.
    asyncio.run(_finish(folder))
    for number in count(1):
        home = folder / str(number)
        home.mkdir()
        was_killed = in_child(lambda home=home, number=number: _act(home, kill_at=number))
        in_child(lambda home=home: _finish(home))
        if not was_killed:
            lost = sum(len(file.read_text()) for file in folder.glob("*/lost"))
            sys.stdout.write(f"{number - 1} kills, {lost} lost\n")
            return 0
    raise AssertionError


def in_child(act) -> bool:
    """Run `act` in a child; tells whether it was killed, and raises if it failed."""
    pid = os.fork()
    if pid == 0:
        try:
            asyncio.run(act())
        except BaseException:  # noqa: BLE001  child boundary: a fork must not go on as its parent
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert status == 0, "a child failed; its words are above"
    return False


def _tools(home: Path) -> tuple[FunctionTool, ...]:
    """Return tools that leave a line for every run, of which `again` ends last."""

    def note(value: str) -> None:
        with (home / "runs").open("a") as file:
            file.write(value + "\n")

    @tool(parallel=True)
    async def once(value: str) -> str:
        """Do it, and not twice."""
        note(value)
        return f"did {value}"

    @tool(parallel=True, idempotent=True)
    async def again(value: str, context: ToolContext) -> str:
        """Do it as often as you like."""
        note(value)
        for _ in range(_TICKS):
            await asyncio.sleep(0)
        return f"did {value}"

    return once, again


def _script(seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text="all done") if seen.tool_results else ScriptedTurn(tools=CALLS)


async def _act(home: Path, *, kill_at: int) -> None:
    failpoints.arm_from(f"*:{kill_at}")
    async with open_rig(home, script=_script, tools=_tools(home)) as rig:
        await rig.outcome(await rig.say("please look into it", name=NAME))


async def _finish(home: Path) -> None:
    async with open_rig(home, script=_script, tools=_tools(home)) as rig:
        # The sender that heard no answer says it again.
        message_id = await rig.say("please look into it", name=NAME)
        assert await rig.outcome(message_id) == "answered"
        told = await _check(rig, message_id, (home / "runs").read_text().split())
        (home / "lost").write_text("x" * sum("outcome unknown" in text for text in told))


async def _check(rig: Rig, message_id: str, runs: list[str]) -> list[str]:
    results = [
        part
        for message in (await rig.store.transcripts.history(rig.lane(), epoch=0, head=99)).messages
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]
    told = [result.text for result in results]
    assert len(told) == len(CALLS), told
    for text, value in zip(told, "abc", strict=True):
        ran = runs.count(value)
        if value == "b":
            assert text == "did b", told
            assert ran >= 1, runs
        else:
            assert ran <= 1, runs
            assert (text == f"did {value}" and ran == 1) or "outcome unknown" in text, (told, runs)
    steps = (await rig.timeline(message_id)).steps
    assert all(step.state != "started" for step in steps), steps
    return told


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
