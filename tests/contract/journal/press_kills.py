"""Kills a process at every failpoint of a press that approves a tool, and looks what became of it.

A program of its own, so that it can fork: `python -m tests.contract.journal.press_kills FOLDER` prints
how many kills there were; each is followed by a process that goes on. What the platform shows is in a
file, so that it outlives the process.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

import msgspec

from hermes import failpoints
from hermes.ports.channel import Buttons, Delivery, Receipt, Target
from hermes.ports.tool import ToolContext, ToolTraits
from hermes.testing.memory_channel import MemoryChannel, Post
from tests.contract.journal.rig import PUSH, Rig, RunTool, open_rig
from tests.contract.journal.tool_kills import in_child

ABLE = msgspec.structs.replace(
    PUSH, key_window_s=3600.0, buttons=Buttons(most=5, label_chars=20, value_bytes=64)
)
_decode = msgspec.json.Decoder(dict[str, Post]).decode


class FilePlatform(MemoryChannel):
    """A platform whose messages are on disk."""

    def __init__(self, file: Path) -> None:
        super().__init__(ABLE, name="push")
        self._file = file
        if file.exists():
            self.posts = _decode(file.read_bytes())
            self._numbers = len(self.posts)

    async def send(self, delivery: Delivery) -> Receipt:
        """Take a message; a repeated key is the message that is there."""
        receipt = await super().send(delivery)
        self._file.write_bytes(msgspec.json.encode(self.posts))
        return receipt

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Change a message."""
        await super().edit(target, platform_message_id, text=text)
        self._file.write_bytes(msgspec.json.encode(self.posts))


def main(folder: Path) -> int:
    """Kill at the first failpoint, the second and so on, until one is never reached."""
    asyncio.run(_converse(folder))
    for number in count(1):
        home = folder / str(number)
        home.mkdir()
        was_killed = in_child(lambda home=home, at=f"*:{number}": _converse(home, kill_at=at))
        in_child(lambda home=home: _converse(home))
        if not was_killed:
            sys.stdout.write(f"{number - 1} kills\n")
            return 0
    raise AssertionError


async def _converse(home: Path, *, kill_at: str = "") -> None:
    """Ask, press, and wait until the question shows it; a sender that heard nothing does it again."""

    def act(_context: ToolContext) -> str:
        with (home / "ran").open("a") as file:
            file.write("x")
        return "paid"

    failpoints.arm_from(kill_at)
    tool = RunTool("pay", act, traits=ToolTraits(needs_approval=True))
    push = FilePlatform(home / "posts")
    async with open_rig(home, tools=(tool,), push=push) as rig:
        said = await rig.say("[[tool:pay]] please", platform="push", name="the-one")
        await rig.as_time_passes(lambda: bool(push.posts))
        (question,) = [one for one in push.posts.values() if "May I run pay" in one.text]
        if question.choices:
            # The value is where a person sees it, on their screen.
            (home / "value").write_text(question.choices[0].value)
        value = (home / "value").read_text()
        pressed = await rig.press(value, name="press-one")
        await rig.as_time_passes(lambda: _is_over(rig, said, pressed))
        await rig.as_time_passes(lambda: not push.posts[question.id].choices)
        again = await rig.press(value, name="press-two")
        await rig.as_time_passes(lambda: _is_over(rig, again))
        await _check(rig, said, pressed)
        assert push.posts[question.id].text.endswith("→ Approve"), push.posts


async def _is_over(rig: Rig, *messages: str) -> bool:
    rows = [row for one in messages for row in await rig.deliveries(one)]
    states = [await rig.store.inbox.state(one) for one in messages]
    return set(states) == {"done"} and all(row.state in ("sent", "dead") for row in rows)


async def _check(rig: Rig, said: str, pressed: str) -> None:
    steps = (await rig.timeline(said)).steps
    # A kill between the step and the question leaves a step without one.
    names = [one.name for one in steps if one.kind == "approval"]
    found = [await rig.store.approvals.get(name) for name in names]
    (approval,) = [one for one in found if one is not None]
    assert (approval.state, approval.decided_by) == ("approved", pressed), approval
    offered = [one for one in rig.push.posts.values() if "May I run pay" in one.text]
    assert len(offered) == 1, offered
    result = await rig.store.inbox.result(pressed)
    assert result is not None
    assert result.text == "Approved.", result


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
