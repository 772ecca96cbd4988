"""The long run: spreads a plan's stories over worker processes, and keeps what was done.

What was done is appended to a file, so that a run which was stopped can go on.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from hermes.ports.clock import SystemClock
from tests.torture.bench import Job, Result
from tests.torture.plan import PLATFORMS, Plan, group_of, mode_of
from tests.torture.processes import ROOT

_LINE_LIMIT = 1 << 26


class Worker:
    """One process that tells stories, several at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.busy = 0

    @classmethod
    async def start(cls, folder: Path) -> "Worker":
        """Start the process."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.torture.worker",
            str(folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=ROOT,
            limit=_LINE_LIMIT,
        )
        return cls(process)

    def give(self, job: Job) -> None:
        """Hand over a job."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(job) + b"\n")
        self.busy += 1

    async def take(self) -> Result | None:
        """Return the next result; None when the process has ended."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            return None
        self.busy -= 1
        return msgspec.json.decode(line, type=Result)

    async def stop(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


class Campaign:
    """Runs a plan to its end, or to the end of its time."""

    def __init__(
        self,
        workers: list[Worker],
        *,
        at_once: int,
        state: Path,
        tell: Callable[[Plan], None],
        seconds: float,
    ) -> None:
        self._workers = workers
        self._at_once = at_once
        self._state = state
        self._tell = tell
        self._clock = SystemClock()
        self._ends_at = self._clock.monotonic() + seconds
        self.is_late = False

    async def survey(self) -> dict[str, int]:
        """Tell one story without kills on each platform; returns how often a round passes what."""
        most: Counter[str] = Counter()
        for number, platform in enumerate(PLATFORMS):
            worker = self._workers[number % len(self._workers)]
            # Far from the numbers of the plan's own stories.
            job = Job(number=-number - 1, seed=number, mode=mode_of(platform, "queue"), kills=())
            worker.give(job)
            result = await worker.take()
            assert result is not None
            assert not result.problem, result.problem
            most |= Counter(result.passed)
        return dict(most)

    async def run(self, plan: Plan) -> None:
        """Do every kill of the plan."""
        async with asyncio.TaskGroup() as group:
            for worker in self._workers:
                group.create_task(self._serve(worker, plan))

    async def _serve(self, worker: Worker, plan: Plan) -> None:
        while True:
            while worker.busy < self._at_once and self._has_time():
                job = plan.next_job()
                if job is None:
                    break
                worker.give(job)
            if worker.busy == 0:
                return
            result = await worker.take()
            assert result is not None, "a worker process ended by itself"
            self._keep(result)
            plan.finish(result)
            self._tell(plan)

    def _has_time(self) -> bool:
        self.is_late = self._clock.monotonic() >= self._ends_at
        return not self.is_late

    def _keep(self, result: Result) -> None:
        done = [kill.failpoint or group_of(kill) for kill in result.fired]
        with self._state.open("ab") as file:
            file.write(msgspec.json.encode({"done": done, "problem": result.problem}) + b"\n")


def read_state(path: Path) -> Counter[str]:
    """Return what earlier runs have done."""
    done: Counter[str] = Counter()
    if path.exists():
        for line in path.read_bytes().splitlines():
            done.update(msgspec.json.decode(line)["done"])
    return done
