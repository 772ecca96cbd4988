"""A failpoint stands on both sides of every write and every outside effect, by the source itself."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.torture.bench import Bench, Job
from tests.torture.failpoint_names import examine, examine_package, read_source
from tests.torture.plan import PLATFORMS, WITHOUT_CONVERSATION, mode_of, reachable
from tests.torture.processes import ROOT
from tests.torture.store_kills import POINTS

PACKAGE = ROOT / "src" / "hermes"


@pytest.mark.req("J4", "J8", "J19")
def test_no_write_and_no_outside_effect_lacks_a_failpoint() -> None:
    found = examine_package(PACKAGE)

    assert found.problems == ()
    assert {"store.commit", "model.call", "tool.run", "channel.send", "wire.pigeon"} <= found.names


@pytest.mark.req("J8", "J19")
@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("store/sqlite/x.py", "class A:\n def f(self):\n  self._db.execute(Q['a'])"),
        ("store/sqlite/x.py", "def f(db):\n db.execute('UPDATE inbox SET state = 1')"),
        ("store/sqlite/x.py", "def f(db):\n return SqliteTx(db)"),
        ("store/sqlite/x.py", "async def f(self, n):\n await self._engine.writer.run(n, g)"),
        ("pipeline/x.py", "async def f(p):\n async with a():\n  p.stream(1)"),
        ("tools/x.py", "async def f(tool):\n await tool.run(1, 2)"),
        ("outbox/x.py", "async def f(self):\n await self._channel.send(1)"),
        ("outbox/x.py", "async def f(self):\n await self._platform.edit(1)"),
        ("channels/x/client.py", "import aiohttp"),
        ("providers/x.py", "from urllib.request import urlopen"),
        (
            "channels/x/client.py",
            "async def f(self):\n async with self.client.request(f'{n}'): ...",
        ),
        ("channels/x/client.py", "async def f(c, n):\n async with c.client.request(n, 'GET'): ..."),
        ("net/x.py", "class A:\n async def f(self):\n  await self.session.request('GET')"),
    ],
)
def test_the_check_finds_what_lacks_one(path: str, text: str) -> None:
    assert len(examine([read_source(text, path)]).problems) == 1


@pytest.mark.req("J8", "J19")
async def test_conversations_pass_every_failpoint_but_those_killed_directly(bench: Bench) -> None:
    jobs = [
        Job(number=number, seed=number, mode=mode_of(platform, "queue"), kills=())
        for number, platform in enumerate(PLATFORMS)
    ]

    results = await bench.run_all(jobs, at_once=3)

    assert [result.problem for result in results] == [""] * len(jobs)
    # In each of them the breaker opened, and a new message denied an approval.
    assert all(result.rests and result.denials for result in results)
    passed = Counter(point for result in results for point in result.passed)
    points = examine_package(PACKAGE).points()
    assert reachable(points) <= set(passed) <= points
    reached = {point.rpartition(".")[0] for point in passed} & WITHOUT_CONVERSATION
    assert reached == set()
    assert {point.rpartition(".")[0] for point in POINTS} >= WITHOUT_CONVERSATION


@pytest.mark.req("J19", "J20", "J24")
def test_a_kill_inside_any_other_unit_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture.store_kills", str(tmp_path / "homes"), "3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr) == (f"{3 * len(POINTS)}\n", "")
