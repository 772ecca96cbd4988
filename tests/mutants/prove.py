"""`python -m tests.mutants.prove`: which tests that claim a requirement fail without its code.

Writes `tools/requirement_proofs.json`, which `make coverage-map` reads. Only unit and contract tests are
judged: system tests run the code in other processes, where nothing is switched off.
"""

import argparse
import importlib
import json
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.mutants.areas import ROOT, TESTS
from tests.mutants.features import (
    FEATURES,
    Feature,
    check,
    modules,
    read_features,
    switch_off,
    tests_near,
)
from tests.mutants.forks import Collected, Job, collect, run_jobs
from tests.mutants.inject import LiveFunctions
from tests.mutants.trace import FOLDER, Trace, kept_files, path_of, trace_missing
from tools.coverage_map import collect as read_marks

PROOFS = ROOT / "tools/requirement_proofs.json"
_PER_FORK = 40
# Of a test with many parameters so many are run.
_PER_TEST = 3
_LIMIT_S = 4.0
Proofs = dict[str, dict[str, object]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the requirements and write the table."""
    options = _parse(arguments)
    features = read_features()
    problems = list(check(features))
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"correct {FEATURES.relative_to(ROOT)}", file=sys.stderr)
        return 1
    marks = read_marks((ROOT / "tests").rglob("*.py"), root=ROOT)
    claims: dict[str, set[str]] = {}
    for claim in marks.claims:
        claims.setdefault(claim.requirement, set()).add(claim.test)
    proofs = read_proofs()
    asked = changed_claims(claims, proofs, marks.digests) if options.changed else claims
    wanted = [one for one in options.ids or features if asked.get(one) or not options.changed]
    if not wanted:
        return 0
    files = sorted({path_of(test) for one in wanted for test in asked.get(one, ())})
    collect(
        files if options.changed else TESTS,
        lambda found: _prove(
            found,
            {one: features[one] for one in wanted},
            asked,
            proofs,
            known=marks.digests,
            options=options,
        ),
    )
    write_proofs(proofs)
    for requirement in wanted:
        tests = proofs.get(requirement, {}).get("tests", {})
        assert isinstance(tests, dict)
        print(f"{requirement:4} {len(tests):3d} of {len(claims.get(requirement, ())):3d} marks")
    return 0


def read_proofs(path: Path = PROOFS) -> Proofs:
    """Return the table as it was written last."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def write_proofs(proofs: Proofs, path: Path = PROOFS) -> None:
    """Write the table."""
    path.write_text(json.dumps(proofs, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def changed_claims(
    claims: dict[str, set[str]], proofs: Proofs, digests: dict[str, str]
) -> dict[str, set[str]]:
    """Return the claims of tests that have changed since the table was made."""
    return {
        requirement: {
            test
            for test in claimed
            if (before := _digests_in(proofs.get(requirement, {})).get(test))
            and before != digests[test]
        }
        for requirement, claimed in claims.items()
    }


def _digests_in(row: dict[str, object], *keys: str) -> dict[str, str]:
    """Return the digests of the tests in a row of the table."""
    found: dict[str, str] = {}
    for key in keys or ("tests", "passed"):
        told = row.get(key, {})
        assert isinstance(told, dict)
        found.update(told)
    return found


def _prove(
    collected: Collected,
    features: dict[str, Feature],
    claims: dict[str, set[str]],
    proofs: Proofs,
    *,
    known: dict[str, str],
    options: argparse.Namespace,
) -> None:
    for feature in features.values():
        for name in modules(feature):
            importlib.import_module(name)
    live = LiveFunctions(ROOT / "src")
    if options.changed:
        _trace(collected, options)
    trace = Trace(kept_files(FOLDER).values())
    found = {
        requirement: _Claims(
            collected,
            claims.get(requirement, set()),
            tests_near(feature, trace),
            trace,
            options.most,
        )
        for requirement, feature in features.items()
    }

    def job(requirement: str, tests: Sequence[str]) -> Job:
        return _job(requirement, features[requirement], tests, live, trace, options)

    jobs = deque(
        job(requirement, tests[at : at + _PER_FORK])
        for requirement, tests in ((one, claimed.asked) for one, claimed in found.items())
        for at in range(0, len(tests), _PER_FORK)
    )
    noticed: dict[str, set[str]] = {requirement: set() for requirement in features}
    start = time.monotonic()
    ends = run_jobs(collected, _given(jobs), workers=options.workers)
    for done, end in enumerate(ends, start=1):
        requirement, tests = end.job.key, list(end.job.tests)
        noticed[requirement].update(one.id for one in end.ended if not one.passed)
        if end.running:
            # It hung, which is a failure; the rest of its fork is run by another.
            noticed[requirement].add(end.running)
            rest = tests[tests.index(end.running) + 1 :]
            jobs.extend([job(requirement, rest)] if rest else [])
        elif end.broke:
            print(f"\n{requirement}: {end.broke.strip().splitlines()[-1]}", file=sys.stderr)
        seconds = time.monotonic() - start
        print(
            f"\r{done}/{done + len(jobs)} forks, {seconds:.0f} s ",
            end="", file=sys.stderr, flush=True,
        )  # fmt: skip
    for requirement, feature in features.items():
        row = _proof(feature, found[requirement], noticed[requirement], known)
        if options.changed:
            row = merged_row(proofs[requirement], row, known)
        proofs[requirement] = row


def _trace(collected: Collected, options: argparse.Namespace) -> None:
    """Trace what was collected, as far as it has changed since."""
    steps = trace_missing(
        collected,
        folder=FOLDER,
        workers=options.workers,
        patience=options.patience,
        again=False,
    )
    for done, of in steps:
        print(f"\rwhich test runs which line: {done}/{of} ", end="", file=sys.stderr, flush=True)


def merged_row(
    before: dict[str, object], row: dict[str, object], known: dict[str, str]
) -> dict[str, object]:
    """Return a row of the table with what was found before of tests that are as they were."""
    merged = dict(row)
    for key in ("tests", "passed"):
        kept = {
            test: digest
            for test, digest in _digests_in(before, key).items()
            if known.get(test) == digest
        }
        merged[key] = {**kept, **_digests_in(row, key)}
    return merged


def _proof(
    feature: Feature, found: "_Claims", noticed: set[str], known: dict[str, str]
) -> dict[str, object]:
    """Return a row of the table; a test with parameters has failed if it has for any of them."""
    failed = {test.partition("[")[0] for test in noticed}
    passed = {test.partition("[")[0] for test in found.asked} - failed | found.unrelated
    return {
        "without": feature.places(),
        "tests": {test: known[test] for test in sorted(failed)},
        "passed": {test: known[test] for test in sorted(passed)},
    }


def _given(jobs: deque[Job]) -> Iterator[Job | None]:
    while True:
        yield jobs.popleft() if jobs else None


class _Claims:
    """The tests that claim one requirement: those to run without it, and those that cannot notice."""

    def __init__(
        self, collected: Collected, claims: set[str], near: set[str], trace: Trace, most: int
    ) -> None:
        found: dict[str, list[str]] = {}
        for test in collected.items:
            name = test.partition("[")[0]
            if name in claims and test in near:
                found.setdefault(name, []).append(test)
        order = sorted(found, key=lambda one: trace.seconds.get(found[one][0], 0.0))
        self.asked = [test for one in order[: most or None] for test in found[one][:_PER_TEST]]
        # It runs none of the code that is off, so nothing changes for it.
        traced = {test.partition("[")[0] for test in trace.seconds}
        self.unrelated = (claims & traced) - set(found)


def _job(
    requirement: str,
    feature: Feature,
    tests: Sequence[str],
    live: LiveFunctions,
    trace: Trace,
    options: argparse.Namespace,
) -> Job:
    def limit_s(test: str) -> float:
        return (_LIMIT_S + 3 * trace.seconds.get(test, _LIMIT_S)) * float(options.patience)

    return Job(
        key=requirement,
        tests=tests,
        limit_s=limit_s,
        before=lambda: switch_off(feature, live),
        goes_on=True,
    )


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants.prove",
        description="Record which tests fail when the code of their requirement is switched off.",
    )
    parser.add_argument("ids", nargs="*", help="requirements (default: all)")
    parser.add_argument(
        "--changed",
        action="store_true",
        help="only tests that have changed since the table was made",
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--patience", type=float, default=1.0, help="stretches every time limit")
    parser.add_argument("--most", type=int, default=0, help="tests for each, the fastest (0: all)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
