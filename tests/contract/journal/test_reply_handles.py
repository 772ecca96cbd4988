"""J17, J18: the handle of a message, kept with it, is counted before each send and survives kill -9."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hermes.control.why_delivery import send_lines
from hermes.message.event import ReplyHandle
from hermes.ports.channel import Capabilities
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import open_rig

ROOT = Path(__file__).parents[3]
WINDOW = Capabilities(delivery="push", unknown="allow", reply_s=300.0)
HANDLE = ReplyHandle(token="t-1")


@pytest.mark.req("A28", "J17")
def test_kill_at_every_point_of_a_reply_with_a_handle(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.contract.journal.handle_kills", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )

    assert done.returncode == 0, done.stderr[-4_000:]
    told = re.search(r"(\d+) kills", done.stdout)
    assert told is not None
    assert int(told[1]) >= 20


@pytest.mark.req("A28")
async def test_a_reply_after_a_restart_carries_the_handle(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, sending=False) as rig:
        said = await rig.say("hello", platform="push", handle=HANDLE)
        await rig.outcome(said)

    push = MemoryChannel(WINDOW, name="push")
    async with open_rig(tmp_path, clock=clock, push=push) as rig:
        await rig.until(lambda: bool(rig.push.posts))

    assert [post.handle for post in push.posts.values()] == [HANDLE]


@pytest.mark.req("A28")
async def test_a_reply_past_its_window_is_told_by_why(tmp_path: Path) -> None:
    clock = ManualClock()
    async with open_rig(tmp_path, clock=clock, sending=False) as rig:
        said = await rig.say("hello", platform="push", handle=HANDLE)
        await rig.outcome(said)

    clock.advance(600.0)
    push = MemoryChannel(WINDOW, name="push")
    async with open_rig(tmp_path, clock=clock, push=push) as rig:

        async def is_dead() -> bool:
            return (await rig.deliveries(said))[0].state == "dead"

        await rig.until(is_dead)
        (row,) = await rig.deliveries(said)
        told = [line[1:] for line in send_lines(row)]

    assert push.posts == {}
    assert told == [
        (
            "delivery",
            {
                "delivery": row.id,
                "platform": "push",
                "failure": "reply_closed",
                "reason": "push: a message can be answered for 5 min, and this is 10 min after it",
                "then": "given up",
            },
        )
    ]
