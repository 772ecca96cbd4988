"""The power fails in the middle of a write or a sync: what was acknowledged is still there."""

import random

import pytest

from hermes.testing.power_cut import PowerCut
from tests.torture.bench import Bench, Job
from tests.torture.plan import BUSY, mode_of
from tests.torture.story import Kill

pytestmark = pytest.mark.sqlite_only

CUTS_PER_STORY = 6
# Making the database takes hundreds of them; a story has more.
MOST_WRITES = 800


def cut_jobs(stories: int, *, synchronous: str, torn: bool) -> list[Job]:
    chance = random.Random(11)
    return [
        Job(
            number=number,
            seed=chance.getrandbits(32),
            mode=mode_of(("plain", "keys")[number % 2], BUSY[number % 2]),
            kills=tuple(
                Kill(
                    power_cut=PowerCut(
                        at=chance.randint(1, MOST_WRITES),
                        keep_seed=chance.getrandbits(16) if torn and place % 2 else None,
                    )
                )
                for place in range(CUTS_PER_STORY)
            ),
            synchronous=synchronous,
        )
        for number in range(stories)
    ]


@pytest.mark.req("A8", "J1", "J8", "J10", "J11", "J16", "J19")
async def test_a_power_cut_loses_nothing_that_was_acknowledged(bench: Bench) -> None:
    jobs = cut_jobs(6, synchronous="FULL", torn=True)

    results = await bench.run_all(jobs, at_once=4)

    assert [result.problem for result in results] == [""] * len(jobs)
    assert sum(len(result.fired) for result in results) >= 30


@pytest.mark.req("J1", "J19")
async def test_without_full_syncs_the_same_cuts_lose_acknowledged_messages(bench: Bench) -> None:
    # A cut while the database is being made loses no promise: not every story has to find a loss. It
    # is found in the books, or by whoever uses the id of a message that was forgotten once more.
    found = ("was accepted", "was taken by another text, yet")
    problems: list[str] = []
    jobs = cut_jobs(12, synchronous="NORMAL", torn=False)
    while jobs and not any(loss in problem for loss in found for problem in problems):
        results = await bench.run_all(jobs[:3], at_once=3)
        problems += [result.problem for result in results]
        del jobs[:3]

    assert any(loss in problem for loss in found for problem in problems), problems
