"""Kills a process at every failpoint of turns that follow-ups share, and looks what became of them.

A program of its own, so that it can fork: `python -m tests.contract.journal.follow_up_kills FOLDER
CASE` prints how many kills there were; each is followed by a process that brings all to its end. In
the case `waiting` three messages wait for their turn, in `stopping` the second stops the first, and in
`close` it comes so soon that it joins the first.
"""

import asyncio
import sys
from collections import Counter
from itertools import count
from pathlib import Path

from hermes import failpoints
from hermes.message.reply import STOPPED
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from tests.contract.journal.rig import Rig, open_rig
from tests.contract.journal.tool_kills import in_child

NAMES = ("a", "b", "c")
SETTINGS = {"BUSY__FOLLOW_UP_S": "0.02"}
CLOSE = {**SETTINGS, "BUSY__JOIN_S": "3600"}


def main(folder: Path, case: str) -> int:
    """Kill at the first failpoint, the second and so on, until one is never reached."""
    # What is made once in a process is made here, for all the children.
    asyncio.run(_finish(folder, case=case))
    for number in count(1):
        home = folder / str(number)
        home.mkdir()
        was_killed = in_child(lambda home=home, number=number: _act(home, number, case=case))
        in_child(lambda home=home: _finish(home, case=case))
        if not was_killed:
            sys.stdout.write(f"{number - 1} kills\n")
            return 0
    raise AssertionError


def _script(seen: SeenConversation, _number: int) -> ScriptedTurn:
    """Answer all but the first message by itself, which has to be stopped."""
    return ScriptedTurn(fault="hang") if seen.last_text == "a" else ScriptedTurn(text="fine")


def _settings(case: str) -> dict[str, str]:
    return CLOSE if case == "close" else SETTINGS


async def _said(rig: Rig, *, case: str) -> tuple[str, ...]:
    """Send the messages; whoever heard no answer sends them again under the same names."""
    sent = []
    for name in NAMES:
        sent.append(await rig.say(name, platform="push", name=name))
        if case != "waiting" and name == "a":
            await rig.start()
            await rig.until(lambda: bool(rig.model.calls) or rig.store.inbox.waiting() == 0)
    if case == "waiting":
        await rig.start()
    return tuple(sent)


async def _act(home: Path, kill_at: int, *, case: str) -> None:
    failpoints.arm_from(f"*:{kill_at}")
    async with open_rig(home, script=_script, settings=_settings(case), start=False) as rig:
        for message_id in await _said(rig, case=case):
            await rig.outcome(message_id)
        await rig.until(lambda: bool(rig.push.posts))


async def _finish(home: Path, *, case: str) -> None:
    async with open_rig(home, script=_script, settings=_settings(case), start=False) as rig:
        sent = await _said(rig, case=case)
        outcomes = [await rig.outcome(message_id) for message_id in sent]
        if case == "waiting":
            assert outcomes == ["answered", "merged", "merged"], outcomes
        if case == "close":
            assert "interrupted" not in outcomes, outcomes
            assert not any(STOPPED in post.text for post in rig.push.posts.values())
        await _check(rig, sent, Counter(outcomes))


async def _check(rig: Rig, sent: tuple[str, ...], outcomes: Counter[str]) -> None:
    # The last one may come after a reply to the others.
    assert 1 <= outcomes["answered"] <= 2, outcomes
    assert outcomes.total() == outcomes["answered"] + outcomes["interrupted"] + outcomes["merged"]
    paid = [line["kind"] for one in sent for line in (await rig.timeline(one)).ledger]
    assert paid == ["capture"] * outcomes["answered"], paid
    lane = rig.lane(platform="push")
    history = (await rig.store.transcripts.history(lane, epoch=0, head=99)).messages
    users = [message.text for message in history if message.role == "user"]
    assert "\n".join(users).split("\n") == list(NAMES), users
    for message_id in sent:
        timeline = await rig.timeline(message_id)
        assert timeline.message is not None
        is_merged = timeline.message.merged_into is not None
        assert len(timeline.deliveries) == (not is_merged)
    assert rig.store.inbox.waiting() == 0
    assert not await rig.store.turns.waiting(lane)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2]))
