"""Kills at every step of people who share too few credits, with the whole core in the process.

A program of its own, so that it can fork: `python -m tests.torture.wallet_kills FOLDER EVERY` lets
a fresh process die at every EVERYth failpoint that the story passes, lets the next one finish the
story, and compares the books with what was said. It prints how many kills there were.
"""

import asyncio
import logging
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path

import structlog

from hermes import failpoints
from hermes.ports.wallet import NewGrant, NewReferral, NewRefund, Wallet
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, RunTool, open_rig
from tests.torture.store_kills import in_fork

CREDITS = 3
SETTINGS = {"CREDITS__POLICY": "wallet", "CREDITS__START_GRANT": str(CREDITS)}
# Ann's are all worth a credit: as many are answered as she has, whatever happens.
ANN = tuple((f"ann{number}", "hello") for number in range(8))
# Bob's give some back: a failure and a stop before the first word cost nothing.
BOB = (
    ("bob0", "[[fail:503]]"),
    ("bob1", "[[tool:look]]"),
    ("bob2", "[[deltas:4]] [[truncate:2]]"),
    ("bob3", "hello"),
    ("bob4", "hello"),
    ("bob5", "hello"),
)
GRANT = 2


async def tell(folder: Path, *, armed: str = "") -> None:
    """Tell the story from its beginning; what was heard before is known, and not repeated."""
    clock = ManualClock()
    async with open_rig(folder, clock=clock, tools=(RunTool("look"),), settings=SETTINGS) as rig:
        failpoints.arm_from(armed)
        said = [(rig, name, text, user) for user, all_ in _story().items() for name, text in all_]
        messages = await asyncio.gather(*(_say(*one) for one in said))
        outcomes = [await rig.outcome(message) for message in messages]
        paid = next(
            message
            for message, outcome in zip(messages, outcomes, strict=True)
            if outcome == "answered"
        )
        await _operate(rig, paid, at=clock.now())
        failpoints.disarm()


def _story() -> dict[str, tuple[tuple[str, str], ...]]:
    return {"ann": ANN, "bob": BOB}


async def _say(rig: Rig, name: str, text: str, user: str) -> str:
    """Every message has a chat of its own, so that all of them run at once."""
    return await rig.say(text, name=name, chat=name, user=user)


async def _operate(rig: Rig, paid: str, *, at: float) -> None:
    wallets, ann, bob = rig.store.wallets, await _wallet(rig, "ann"), await _wallet(rig, "bob")
    await wallets.refund(NewRefund(message_id=paid, at=at))
    await wallets.grant(NewGrant(id="g_bob", person_id=bob.person_id, amount=GRANT, at=at))
    referral = NewReferral(
        person_id=bob.person_id, referred_by=ann.person_id, bonus=GRANT, most=9, at=at
    )
    await wallets.refer(referral)


async def _wallet(rig: Rig, user: str) -> Wallet:
    person = await rig.store.people.find("rest", user)
    assert person is not None
    found = await rig.store.wallets.get(person.id)
    assert found is not None
    return found


async def check(folder: Path) -> None:
    """Compare the books with the story."""
    async with open_rig(folder, start=False, sending=False, settings=SETTINGS) as rig:
        audit = await rig.store.wallets.audit(limit=9)
        assert audit.differences == (), audit.differences
        assert audit.holds == 0, f"{audit.holds} holds are left"
        captured = {user: await _captures(rig, names) for user, names in _story().items()}
        ann, bob = await _wallet(rig, "ann"), await _wallet(rig, "bob")
        assert captured["ann"] == CREDITS, f"ann paid {captured['ann']}"
        assert 0 < captured["bob"] <= CREDITS, f"bob paid {captured['bob']}"
        refund = 1
        expected = (
            CREDITS - captured["ann"] + refund + GRANT,
            CREDITS - captured["bob"] + 2 * GRANT,
        )
        assert (ann.balance, bob.balance) == expected, (ann, bob, expected)


async def _captures(rig: Rig, said: tuple[tuple[str, str], ...]) -> int:
    """Return what the messages cost; each of them has its one end, and the line that goes with it."""
    paid = 0
    for name, _ in said:
        story = await rig.timeline(name)
        assert story.message is not None
        lines = Counter(line["kind"] for line in story.ledger)
        shown = story.result.text if story.result is not None else ""
        is_earned = story.message.outcome == "answered" or "cut off" in shown
        assert story.message.outcome in {"answered", "failed", "refused"}, story.message
        assert lines["capture"] == is_earned, (name, story.message.outcome, shown, lines)
        paid += lines["capture"]
    return paid


def count_steps(folder: Path) -> int:
    """Return how many failpoints the story passes."""
    passed: list[str] = []
    failpoints.watch(passed.append)
    asyncio.run(tell(folder))
    asyncio.run(check(folder))
    return len(passed)


def kill_at(step: int, folder: Path) -> bool:
    """Kill a process at a step of the story and let another end it; false if it was over before."""
    folder.mkdir()
    status = in_fork(lambda: asyncio.run(tell(folder, armed=f"*:{step}")))
    if status == 0:
        return False
    assert status == signal.SIGKILL, f"step {step}: the process ended with {status}"
    asyncio.run(tell(folder))
    asyncio.run(check(folder))
    shutil.rmtree(folder)
    return True


def main(arguments: list[str]) -> None:
    """Kill at every step, or at every nth."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    folder, every = Path(arguments[0]), int(arguments[1])
    (folder / "whole").mkdir(parents=True)
    steps = count_steps(folder / "whole")
    assert steps > 10 * (len(ANN) + len(BOB)) // 2, f"only {steps} steps"
    kills = sum(kill_at(step, folder / str(step)) for step in range(1, steps + 1, every))
    sys.stdout.write(f"{kills} of {steps}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
