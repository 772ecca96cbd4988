"""Killed at every failpoint and at random moments, a gateway's books balance after it is back."""

import random

import pytest

from tests.torture.bench import Bench, Job, Result
from tests.torture.failpoint_names import examine_package
from tests.torture.plan import BUSY, PLATFORMS, Plan, mode_of, reachable
from tests.torture.processes import ROOT
from tests.torture.story import Kill

SHARDS = 4
AT_ONCE = 4
# On each platform.
RANDOM_KILLS = 4


def passed_by_conversations() -> list[str]:
    return sorted(reachable(examine_package(ROOT / "src" / "hermes").points()))


async def run_plan(bench: Bench, plan: Plan) -> list[Result]:
    results: list[Result] = []
    while jobs := list(iter(plan.next_job, None)):
        told = await bench.run_all(jobs, at_once=AT_ONCE)
        for result in told:
            plan.finish(result)
        results += told
    return results


@pytest.mark.req("A5", "A8", "J1", "J7", "J8", "J10", "J11", "J15", "J16", "J17", "J18", "W5")
@pytest.mark.parametrize("shard", range(SHARDS))
async def test_a_kill_at_any_failpoint_changes_no_book(bench: Bench, shard: int) -> None:
    points = passed_by_conversations()[shard::SHARDS]
    plan = Plan(seed=shard)
    plan.add_failpoints(points, seeds=1, passed={})
    plan.mix()

    await run_plan(bench, plan)

    assert (plan.problems, plan.unreached) == ([], [])
    assert dict(plan.by_point) == dict.fromkeys(points, 1)


@pytest.mark.req("A5", "A8", "J1", "J4", "J8", "J10", "J11", "J13", "J17", "W5", "W16")
async def test_kills_at_random_moments_change_no_book(bench: Bench) -> None:
    chance = random.Random(7)
    jobs = [
        Job(
            number=number,
            seed=chance.getrandbits(32),
            mode=mode_of(platform, BUSY[number % 2]),
            kills=tuple(Kill(after_s=chance.random() * 0.6) for _ in range(RANDOM_KILLS)),
        )
        for number, platform in enumerate(PLATFORMS)
    ]

    results = await bench.run_all(jobs, at_once=AT_ONCE)

    assert [result.problem for result in results] == [""] * len(jobs)
    assert sum(len(result.fired) for result in results) == RANDOM_KILLS * len(PLATFORMS)
