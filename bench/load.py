"""The load: requests of one plan, sent from a process of its own.

`python -m bench.load` reads one plan as JSON from standard input, runs it and prints one
`Outcome`. A plan is bounded in requests and in seconds, and an answer that is not the expected
one is an error.
"""

import asyncio
import os
import subprocess
import sys
from time import monotonic

import msgspec
import uvloop

from bench.agent_plan import AgentPlan
from bench.call_plan import CallPlan
from bench.http import Connection, connect
from bench.plan import Plan
from bench.process import cpu_s, rss_mb, tree_cpu_s
from bench.turn_plan import TurnPlan


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came back; CPU and memory are those of the measured process, `load_cpu_s` our own."""

    count: int
    errors: int
    wall_s: float
    cpu_s: float
    load_cpu_s: float
    rss_before_mb: float
    rss_after_mb: float
    p50_ms: float
    p99_ms: float
    first_error: str | None = None

    @property
    def per_s(self) -> float:
        """Good answers per second of wall time."""
        return self.count / self.wall_s

    @property
    def cpu_ms_each(self) -> float:
        """CPU of the measured process per good answer."""
        return self.cpu_s * 1000 / self.count


def run(plan: Plan) -> Outcome:
    """Run a plan in a process of its own; raises `RuntimeError` when an answer was wrong."""
    ended = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        input=msgspec.json.encode(plan),
        capture_output=True,
        timeout=plan.seconds + 60,
        check=False,
    )
    if ended.returncode != 0:
        raise RuntimeError(f"the load process failed: {ended.stderr.decode()[-2000:]}")
    outcome = msgspec.json.decode(ended.stdout, type=Outcome)
    if outcome.errors or not outcome.count:
        raise RuntimeError(
            f"{outcome.errors} of {outcome.count + outcome.errors} requests of {plan.name} went "
            f"wrong; the first: {outcome.first_error}"
        )
    return outcome


class _Load:
    """A plan while it runs."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._run = os.urandom(8).hex()
        self._left = plan.count
        self._deadline = monotonic() + plan.seconds
        self.took: list[float] = []
        self.failures: list[str] = []

    async def work(self, connection: Connection, number: int) -> None:
        """Send requests one after another until the plan is used up."""
        sent = 0
        while self._left > 0 and monotonic() < self._deadline:
            self._left -= 1
            started = monotonic()
            request = self._plan.request(number, sent, run=self._run)
            status, body = await connection.ask(request)
            took = monotonic() - started
            problem = self._plan.problem(status, body)
            if problem is None:
                self.took.append(took)
            else:
                self.failures.append(problem)
            sent += 1


async def carry_out(plan: Plan) -> Outcome:
    """Connect everybody, then send and measure."""
    used = tree_cpu_s if plan.with_children else cpu_s
    connections = [await connect("127.0.0.1", plan.port) for _ in range(plan.workers)]
    load = _Load(plan)
    own, rss_before = cpu_s(os.getpid()), rss_mb(plan.pid)
    cpu_before, started = used(plan.pid), monotonic()
    async with asyncio.timeout(plan.seconds + 30):
        await asyncio.gather(*(load.work(one, n) for n, one in enumerate(connections)))
    wall_s = monotonic() - started
    await asyncio.sleep(plan.settle_s)
    cpu = used(plan.pid) - cpu_before
    for connection in connections:
        connection.close()
    took = sorted(load.took) or [0.0]
    return Outcome(
        count=len(load.took),
        errors=len(load.failures),
        wall_s=wall_s,
        cpu_s=cpu,
        load_cpu_s=cpu_s(os.getpid()) - own,
        rss_before_mb=rss_before,
        rss_after_mb=rss_mb(plan.pid),
        p50_ms=took[len(took) // 2] * 1000,
        p99_ms=took[min(len(took) - 1, len(took) * 99 // 100)] * 1000,
        first_error=load.failures[0] if load.failures else None,
    )


if __name__ == "__main__":
    given = msgspec.json.decode(sys.stdin.buffer.read(), type=TurnPlan | CallPlan | AgentPlan)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(carry_out(given))))
