"""Kills a process at every failpoint of a turn that three photos share, and looks what became of them.

A program of its own, so that it can fork: `python -m tests.contract.journal.photo_kills FOLDER`
prints how many kills there were; each is followed by a process that finishes the turn, while the
platform brings the photos again and again.
"""

import asyncio
import sys
from itertools import count
from pathlib import Path

from hermes import failpoints
from hermes.message.parts import ImagePart, Media
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.tool_kills import in_child

NAMES = ("a", "b", "c")
SETTINGS = {"BUSY__PHOTO_BURST_S": "5"}


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
            sys.stdout.write(f"{number - 1} kills\n")
            return 0
    raise AssertionError


def _script(_seen: SeenConversation, _number: int) -> ScriptedTurn:
    return ScriptedTurn(text="three photos")


async def _send_one(rig: Rig, name: str) -> str:
    shown = ImagePart(Media("image/png", url=f"https://photos.example/{name}"))
    return await rig.say("", platform="push", name=name, attached=(shown,))


async def _send(rig: Rig) -> tuple[str, ...]:
    """Send the photos; whoever heard no answer sends them again under the same names."""
    return tuple([await _send_one(rig, name) for name in NAMES])


async def _send_on(rig: Rig, name: str) -> None:
    while True:
        await _send_one(rig, name)


async def _started(rig: Rig) -> tuple[str, ...]:
    """Send the photos, start when no more can follow, and send them again while they are answered."""
    await _send(rig)
    rig.clock.advance(6)
    await rig.start()
    return await _send(rig)


async def _act(home: Path, *, kill_at: int) -> None:
    failpoints.arm_from(f"*:{kill_at}")
    async with open_rig(home, script=_script, settings=SETTINGS, start=False) as rig:
        for message_id in await _started(rig):
            await rig.outcome(message_id)
        await rig.until(lambda: len(rig.push.posts) == 1)


async def _finish(home: Path) -> None:
    async with open_rig(home, script=_script, settings=SETTINGS, start=False) as rig:
        host, *others = await _send(rig)
        rig.clock.advance(6)
        repeats = [asyncio.create_task(_send_on(rig, name)) for name in NAMES]
        await asyncio.sleep(0)
        await rig.start()
        outcomes = [await rig.outcome(message_id) for message_id in (host, *others)]
        for repeat in repeats:
            repeat.cancel()
        assert outcomes == ["answered", "merged", "merged"], outcomes
        records = [await rig.store.inbox.get(message_id) for message_id in others]
        assert all(record is not None and record.merged_into == host for record in records)
        await _check(rig, host, others)


async def _check(rig: Rig, host: str, others: list[str]) -> None:
    paid = [line["kind"] for one in (host, *others) for line in (await rig.timeline(one)).ledger]
    assert paid == ["capture"], paid
    history = (
        await rig.store.transcripts.history(rig.lane(platform="push"), epoch=0, head=99)
    ).messages
    assert [message.role for message in history] == ["user", "assistant"], history
    shown = [part.media.url for part in history[0].parts if isinstance(part, ImagePart)]
    assert shown == [f"https://photos.example/{name}" for name in NAMES], shown
    assert len((await rig.timeline(host)).deliveries) == 1
    assert not any([(await rig.timeline(one)).deliveries for one in others])
    assert rig.store.inbox.waiting() == 0
    steps = [step for step in (await rig.timeline(host)).steps if step.kind == "burst"]
    assert [step.name for step in steps] == others


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
