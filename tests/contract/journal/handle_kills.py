"""Kills a process at every failpoint of a reply that its platform takes twice only, and counts the uses.

A program of its own, so that it can fork: `python -m tests.contract.journal.handle_kills FOLDER`
prints how many kills there were; each is followed by a process that goes on. What the platform took is
in a file, so that it outlives the process.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from hermes import failpoints
from hermes.message.event import ReplyHandle
from hermes.ports.channel import Capabilities, Delivery, Receipt
from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.tool_kills import in_child

ABLE = Capabilities(
    delivery="push",
    unknown="allow",
    max_chars=90,
    key_window_s=3600.0,
    reply_s=3600.0,
    replies=2,
)
SAID = "tell me more, " * 14


class FilePlatform(MemoryChannel):
    """A platform that takes two replies to a message, under their keys, and remembers them on disk."""

    def __init__(self, file: Path) -> None:
        super().__init__(ABLE, name="push")
        self._file = file

    async def send(self, delivery: Delivery) -> Receipt:
        """Take a reply that carries the handle; a repeated key is the message that is there."""
        assert delivery.handle == ReplyHandle(token="t-1"), delivery.handle
        keys = self.keys()
        if delivery.key not in keys:
            assert len(keys) < ABLE.replies, (delivery.key, keys)
            with self._file.open("a") as file:
                file.write(delivery.key + "\n")
        return Receipt(f"id-{delivery.key}")

    def keys(self) -> list[str]:
        """Return the keys of what it took."""
        return self._file.read_text().split() if self._file.exists() else []


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
    """Say something whose answer is three messages long; a sender that heard nothing says it again."""
    failpoints.arm_from(kill_at)
    push = FilePlatform(home / "taken")
    async with open_rig(home, push=push) as rig:
        said = await rig.say(SAID, platform="push", name="the-one", handle=ReplyHandle(token="t-1"))
        await rig.as_time_passes(lambda: _is_over(rig, said))
        await _check(rig, said, push)


async def _is_over(rig: Rig, said: str) -> bool:
    rows = await rig.deliveries(said)
    return bool(rows) and all(row.state in ("sent", "dead") for row in rows)


async def _check(rig: Rig, said: str, push: FilePlatform) -> None:
    (row,) = await rig.deliveries(said)
    assert (row.state, row.failure) == ("dead", "reply_closed"), row
    assert "can be answered 2 times" in row.story[-1].why, row.story
    assert push.keys() == [f"{row.id}.0", f"{row.id}.1"], push.keys()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
