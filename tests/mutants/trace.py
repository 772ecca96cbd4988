"""Which test runs which line: each test is run once under coverage, and the result is kept per file.

Lines are kept as a function and an offset in it, so that code which moves keeps its tests. A map that
is out of date can only miss tests: a fault is then reported as not noticed, never as noticed.
"""

import ast
import random
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import coverage
import msgspec

from tests.mutants.areas import ROOT
from tests.mutants.forks import Collected, Job, run_jobs
from tests.mutants.operators import functions

FOLDER = ROOT / "build/mutants"
_PER_FORK = 60
_LIMIT_S = 120.0
# A function: its path and its qualified name.
Lines = dict[str, list[int]]


class TracedTest(msgspec.Struct, omit_defaults=True):
    """What a test took, and the lines that it ran."""

    id: str
    seconds: float
    passed: bool
    lines: Lines


class TracedFile(msgspec.Struct):
    """The tests of one file, as they were when they were traced."""

    path: str
    digest: str
    tests: list[TracedTest]


class Places:
    """Finds the function of a line."""

    def __init__(self) -> None:
        self._of: dict[str, dict[int, tuple[str, int]]] = {}

    def of(self, path: str, line: int) -> tuple[str, int] | None:
        """Return the function that a line is part of, and its offset there."""
        if path not in self._of:
            self._of[path] = dict(_lines_of(path))
        return self._of[path].get(line)


def _lines_of(path: str) -> Iterator[tuple[int, tuple[str, int]]]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for name, node in functions(tree):
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            yield line, (f"{path}::{name}", line - node.lineno)


class Trace:
    """The tests of every line."""

    def __init__(self, files: Iterable[TracedFile]) -> None:
        self.seconds: dict[str, float] = {}
        self._tests: dict[str, dict[int, list[str]]] = {}
        for file in files:
            for test in file.tests:
                if test.passed:
                    self._add(test)

    @property
    def mean_s(self) -> float:
        """How long a test took on average."""
        return sum(self.seconds.values()) / max(1, len(self.seconds))

    def _add(self, test: TracedTest) -> None:
        self.seconds[test.id] = test.seconds
        for function, offsets in test.lines.items():
            by_offset = self._tests.setdefault(function, {})
            for offset in offsets:
                by_offset.setdefault(offset, []).append(test.id)

    def tests(self, function: str, offset: int | None = None) -> list[str]:
        """Return the tests of a line of a function, or of the whole function."""
        by_offset = self._tests.get(function, {})
        if offset is not None and offset in by_offset:
            return by_offset[offset]
        return sorted({test for tests in by_offset.values() for test in tests})


def path_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def digest(path: str) -> str:
    """Return the digest of a file of the project."""
    return sha256((ROOT / path).read_bytes()).hexdigest()


def kept_files(folder: Path) -> dict[str, TracedFile]:
    """Return what was traced before, by test file."""
    found: dict[str, TracedFile] = {}
    for kept in sorted((folder / "trace").glob("*.json")):
        file = msgspec.json.decode(kept.read_bytes(), type=TracedFile)
        found[file.path] = file
    return found


def keep(file: TracedFile, folder: Path) -> None:
    """Write what was traced of a test file."""
    (folder / "trace").mkdir(parents=True, exist_ok=True)
    name = sha256(file.path.encode()).hexdigest()[:16]
    (folder / "trace" / f"{name}.json").write_bytes(msgspec.json.encode(file))


def trace_missing(
    collected: Collected, *, folder: Path, workers: int, patience: float, again: bool
) -> Iterator[tuple[int, int]]:
    """Trace the files that changed since they were traced; yields how many of how many are done."""
    missing = _missing({} if again else kept_files(folder), collected)
    digests = {path: digest(path) for path in missing}
    jobs = deque(
        _job(path, tests[at : at + _PER_FORK], patience=patience)
        for path, tests in sorted(missing.items())
        for at in range(0, len(tests), _PER_FORK)
    )
    # Long files are not all at the end.
    random.Random(1).shuffle(jobs)
    parts: dict[str, dict[str, TracedTest]] = {path: {} for path in missing}
    ends = run_jobs(collected, _given(jobs), workers=workers)
    for done, end in enumerate(ends, start=1):
        path, lines = end.job.key, _handed_back.pop(end.folder, {})
        traced = [
            TracedTest(one.id, one.seconds, one.passed, lines.get(one.id, {})) for one in end.ended
        ]
        if end.running:
            # It hung: nobody asks it again, and the rest of its fork is run by another.
            traced.append(TracedTest(end.running, _LIMIT_S, False, {}))
            rest = list(end.job.tests)[list(end.job.tests).index(end.running) + 1 :]
            jobs.extend([_job(path, rest, patience=patience)] if rest else [])
        parts[path].update({one.id: one for one in traced})
        if len(parts[path]) == len(missing[path]):
            keep(TracedFile(path, digests[path], list(parts[path].values())), folder)
        yield done, done + len(jobs)


def _missing(kept: dict[str, TracedFile], collected: Collected) -> dict[str, list[str]]:
    """Return the tests of the files that are new or have changed."""
    by_file: dict[str, list[str]] = {}
    for test in collected.items:
        by_file.setdefault(path_of(test), []).append(test)
    return {
        path: tests
        for path, tests in by_file.items()
        if path not in kept
        or kept[path].digest != digest(path)
        or not {one.id for one in kept[path].tests}.issuperset(tests)
    }


def _given(jobs: deque[Job]) -> Iterator[Job | None]:
    while True:
        yield jobs.popleft() if jobs else None


# The lines of the tests of a fork, from its end to their reading.
_handed_back: dict[Path, dict[str, Lines]] = {}


def _job(path: str, tests: Sequence[str], *, patience: float) -> Job:
    watched = coverage.Coverage(
        data_file=None, config_file=False, include=[f"{ROOT}/src/hermes/*"], messages=False
    )

    def after(folder: Path) -> None:
        data = folder / "lines.json"
        if data.is_file():
            _handed_back[folder] = msgspec.json.decode(data.read_bytes(), type=dict[str, Lines])

    def around(test: str) -> None:
        if test:
            watched.switch_context(test)
        else:
            watched.stop()
            _write_lines(watched)

    return Job(
        key=path,
        tests=tests,
        limit_s=lambda _test: _LIMIT_S * patience,
        before=watched.start,
        around=around,
        after=after,
        goes_on=True,
    )


def _write_lines(watched: coverage.Coverage) -> None:
    """Write the lines of each test where the parent finds them."""
    data, places = watched.get_data(), Places()
    found: dict[str, Lines] = {}
    for name in data.measured_files():
        path = str(Path(name).relative_to(ROOT))
        for line, tests in data.contexts_by_lineno(name).items():
            place = places.of(path, line)
            if place is not None:
                for test in tests:
                    if test:
                        found.setdefault(test, {}).setdefault(place[0], []).append(place[1])
    Path(tempfile.gettempdir(), "lines.json").write_bytes(msgspec.json.encode(found))
