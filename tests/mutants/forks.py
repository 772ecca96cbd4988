"""Runs tests in forks of a process that has collected them all; a fork may hold a fault.

Each fork has its own session of processes and its own folder for temporary files; both end with it.
It reports every test on a pipe, one JSON line each.
"""

import gc
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

# What a fork does before its tests, and what it hands back after them.
Before = Callable[[], None]
Around = Callable[[str], None]


@dataclass
class TestEnd:
    """How a test ended in a fork."""

    id: str
    passed: bool
    seconds: float
    why: str = ""


@dataclass
class Job:
    """Tests to be run in one fork, one after the other, until one fails."""

    key: str
    tests: Sequence[str]
    limit_s: Callable[[str], float]
    before: Before | None = None
    around: Around | None = None
    after: Callable[[Path], None] | None = None
    goes_on: bool = False


@dataclass
class JobEnd:
    """What a fork has reported: the tests that ended, and the one that it hung or died in."""

    job: Job
    ended: list[TestEnd] = field(default_factory=list)
    running: str = ""
    broke: str = ""
    folder: Path = Path()

    @property
    def failed(self) -> TestEnd | None:
        """The test that failed, hung or ended its process."""
        found = next((one for one in self.ended if not one.passed), None)
        if found is None and self.running:
            return TestEnd(self.running, passed=False, seconds=0.0, why=self.broke or "hung")
        return found


class Collected:
    """A pytest plugin: keeps what was collected and gives it to `work` instead of running it."""

    def __init__(self, work: Callable[["Collected"], None]) -> None:
        self._work = work
        self.items: dict[str, pytest.Item] = {}
        self.reports: list[pytest.TestReport] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the work in place of the loop."""
        self.items = {item.nodeid: item for item in session.items}
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a report for the fork that runs the test."""
        self.reports.append(report)

    def run(self, test: str, following: str | None) -> TestEnd:
        """Run one test in this process."""
        self.reports.clear()
        item = self.items[test]
        start = time.monotonic()
        item.ihook.pytest_runtest_protocol(
            item=item, nextitem=None if following is None else self.items[following]
        )
        failed = [report for report in self.reports if report.failed]
        why = str(failed[0].longreprtext)[-600:] if failed else ""
        return TestEnd(test, not failed, time.monotonic() - start, why)


class _Fork:
    """One running fork."""

    def __init__(self, collected: Collected, job: Job) -> None:
        self.job = job
        self.folder = Path(tempfile.mkdtemp(prefix="mutant."))
        self.result = JobEnd(job, folder=self.folder)
        self.pipe, writer = os.pipe()
        self._rest = b""
        self.deadline = 0.0
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            _run_fork(collected, job, writer, self.folder)
        os.close(writer)
        self._set_deadline(60.0)

    def _set_deadline(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds

    def read(self) -> bool:
        """Take what the fork reports; returns False once it has ended."""
        data = os.read(self.pipe, 65_536)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if "starts" in said:
                self.result.running = said["starts"]
                self._set_deadline(self.job.limit_s(said["starts"]))
            elif "broke" in said:
                self.result.broke = said["broke"]
            elif "done" in said:
                self.result.running = ""
                # What a fork hands back may take as long as a test.
                self._set_deadline(120.0)
            else:
                self.result.ended.append(TestEnd(**said))
        return bool(data)

    def end(self) -> JobEnd:
        """Kill what is left of it."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pipe)
        if self.job.after is not None:
            self.job.after(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.result


def run_jobs(collected: Collected, jobs: Iterator[Job | None], *, workers: int) -> Iterator[JobEnd]:
    """Run jobs in forks, `workers` at a time; yields each as it ends. `jobs` may grow meanwhile."""
    gc.collect()
    gc.freeze()
    running: dict[int, _Fork] = {}
    while True:
        while len(running) < workers:
            job = next(jobs, None)
            if job is None:
                break
            fork = _Fork(collected, job)
            running[fork.pipe] = fork
        if not running:
            return
        first = min(fork.deadline for fork in running.values())
        ready, _, _ = select.select(list(running), [], [], max(0.0, first - time.monotonic()))
        for pipe in list(running):
            fork = running[pipe]
            is_over = pipe in ready and not fork.read()
            if is_over or time.monotonic() > fork.deadline:
                del running[pipe]
                yield fork.end()


def _run_fork(collected: Collected, job: Job, writer: int, folder: Path) -> None:
    """Be a fork; never returns."""
    code = 70
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        # The temporary files of this fork, and of every program that its tests start.
        os.environ["TMPDIR"] = str(folder)
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
        tempfile.tempdir = str(folder)
        if job.before is not None:
            job.before()
        _run_tests(collected, job, writer)
        code = 0
    except BaseException:  # noqa: BLE001  process boundary: what broke goes to the parent
        _tell(writer, {"broke": traceback.format_exc()[-2_000:]})
    finally:
        os._exit(code)


def _run_tests(collected: Collected, job: Job, writer: int) -> None:
    for number, test in enumerate(job.tests):
        is_last = number + 1 == len(job.tests)
        _tell(writer, {"starts": test})
        if job.around is not None:
            job.around(test)
        end = collected.run(test, None if is_last else job.tests[number + 1])
        _tell(writer, {"id": end.id, "passed": end.passed, "seconds": end.seconds, "why": end.why})
        if not end.passed and not job.goes_on:
            break
    if job.around is not None:
        job.around("")
    _tell(writer, {"done": True})


def _tell(writer: int, said: dict[str, object]) -> None:
    data = json.dumps(said).encode() + b"\n"
    while data:
        data = data[os.write(writer, data) :]


def collect(tests: Sequence[str], work: Callable[[Collected], None]) -> int:
    """Collect tests in this process and give them to `work`; returns pytest's exit code."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 2_000))
    options = ["-q", "--no-header", "--no-summary", "--capture=sys", "-p", "no:cacheprovider"]
    return int(pytest.main([*options, *tests], plugins=[Collected(work)]))
