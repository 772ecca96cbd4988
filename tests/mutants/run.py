"""Runs the tests of each fault in a fork that holds it, and judges whether one of them noticed.

A test that fails is believed only if it passes without the fault, alone in a fork of its own.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

import msgspec

from tests.mutants.areas import ROOT
from tests.mutants.faults import Fault
from tests.mutants.forks import Collected, Job, JobEnd, run_jobs
from tests.mutants.inject import LiveFunctions, inject
from tests.mutants.select import query_users
from tests.mutants.trace import Trace, path_of

# A test that waits for something that never comes gives up after a while; most are not waited for.
_LIMIT_S = 8.0
_TIMES_SLOWER = 3.0
_COMMON = frozenset({"herme", "test", "unit", "contract", "query", "querie", "store", "journal"})


class Verdict(msgspec.Struct, omit_defaults=True):
    """Whether a fault was noticed, and by which test; `tests` could have noticed it."""

    fault: str
    area: str
    caught: bool
    by: str = ""
    why: str = ""
    run: int = 0
    tests: int = 0


class Runner:
    """Judges faults."""

    def __init__(
        self,
        collected: Collected,
        trace: Trace,
        *,
        workers: int,
        patience: float = 1.0,
        killers: dict[str, str] | None = None,
        most_tests: int = 600,
        select: Callable[[Fault], Sequence[str]],
    ) -> None:
        self._collected = collected
        self._trace = trace
        self._workers = workers
        self._patience = patience
        self._killers = killers or {}
        # Counted in tests of mean length: it does not matter how busy the machine was when they
        # were traced.
        self._budget_s = most_tests * trace.mean_s
        self._select = select
        self._live = LiveFunctions(ROOT / "src")
        self._reliable: set[str] = set()
        self._unreliable: set[str] = set()
        self._queue: deque[Job] = deque()
        self._waiting: dict[str, list[tuple[Fault, JobEnd]]] = {}
        self._faults: dict[str, Fault] = {}

    def judge(self, faults: Sequence[Fault]) -> Iterator[Verdict]:
        """Yield a verdict on each fault, in the order in which they are reached."""
        self._faults = {fault.identity: fault for fault in faults}
        self._queue.extend(map(self._job, faults))
        for end in run_jobs(self._collected, self._jobs(), workers=self._workers):
            if end.job.key in self._faults:
                yield from self._after(self._faults[end.job.key], end)
            else:
                yield from self._after_check(end)

    def _jobs(self) -> Iterator[Job | None]:
        while True:
            # None while nothing waits here; a fork that ends may bring more.
            yield self._queue.popleft() if self._queue else None

    def _job(self, fault: Fault) -> Job:
        return Job(
            key=fault.identity,
            tests=self.tests_of(fault),
            limit_s=self._limit_s,
            before=lambda: inject(fault, self._live, root=ROOT),
        )

    def tests_of(self, fault: Fault) -> list[str]:
        """Return the tests that can notice a fault, in the order in which they are asked."""
        known = [one for one in self._select(fault) if one in self._collected.items]
        usable = [one for one in known if one not in self._unreliable]
        ordered = in_order(usable, self._trace.seconds, words=self._words_of(fault))
        killer = self._killers.get(fault.identity, "")
        if killer in ordered:
            ordered.remove(killer)
            ordered.insert(0, killer)
        return self._within_budget(ordered)

    def _words_of(self, fault: Fault) -> frozenset[str]:
        users = (
            query_users(fault.path, fault.function.removeprefix("query ")) if fault.is_sql else ()
        )
        return _words(" ".join([fault.path, fault.function, *(name for name, _ in users)]))

    def _within_budget(self, tests: list[str]) -> list[str]:
        left, chosen = self._budget_s, list[str]()
        for test in tests:
            left -= self._trace.seconds.get(test, 0.0)
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen

    def _limit_s(self, test: str) -> float:
        usual = self._trace.seconds.get(test, 0.0)
        return (_LIMIT_S + _TIMES_SLOWER * usual) * self._patience

    def _after(self, fault: Fault, end: JobEnd) -> Iterator[Verdict]:
        failed = end.failed
        if failed is None:
            why = end.broke if end.broke else ""
            yield self._verdict(fault, end, caught=False, why=why)
        elif failed.id in self._reliable:
            yield self._verdict(fault, end, caught=True)
        elif failed.id in self._unreliable:
            self._queue.append(self._job(fault))
        elif failed.id in self._waiting:
            self._waiting[failed.id].append((fault, end))
        else:
            self._waiting[failed.id] = [(fault, end)]
            self._queue.appendleft(
                Job(key=f"check {failed.id}", tests=[failed.id], limit_s=self._limit_s)
            )

    def _after_check(self, end: JobEnd) -> Iterator[Verdict]:
        test = end.job.tests[0]
        if end.failed is None:
            self._reliable.add(test)
        else:
            self._unreliable.add(test)
        for fault, of in self._waiting.pop(test, []):
            yield from self._after(fault, of)

    def _verdict(self, fault: Fault, end: JobEnd, *, caught: bool, why: str = "") -> Verdict:
        failed = end.failed
        return Verdict(
            fault=fault.identity,
            area=fault.area,
            caught=caught,
            by=failed.id if failed and caught else "",
            why=(failed.why[-300:] if failed and caught else why),
            run=len(end.ended) + bool(end.running),
            tests=len(end.job.tests),
        )


def in_order(
    tests: Sequence[str], seconds: dict[str, float], *, words: frozenset[str]
) -> list[str]:
    """Order tests: those of files that are named like the code, then one of each file, then the rest."""
    near = [test for test in tests if _words(path_of(test)) & words]
    far = in_turns([test for test in tests if test not in set(near)], seconds)
    return [*in_turns(near, seconds), *far]


def _words(text: str) -> frozenset[str]:
    """Return the words of a path or a name that say something, without their plural."""
    found = re.findall(r"[a-z]{4,}", re.sub(r"([A-Z])", r"_\1", text).lower())
    return frozenset(word.removesuffix("s") for word in found) - _COMMON


def in_turns(tests: Sequence[str], seconds: dict[str, float]) -> list[str]:
    """Order tests so that every file comes before any comes again, the fastest of each first."""
    by_file: dict[str, list[str]] = {}
    for test in sorted(tests, key=lambda one: (seconds.get(one, 0.0), one)):
        by_file.setdefault(path_of(test), []).append(test)
    rows = zip_longest(*by_file.values())
    return [test for row in rows for test in row if test is not None]
