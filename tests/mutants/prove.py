"""`python -m tests.mutants.prove`: which tests that claim a requirement fail without its code.

Writes `tools/requirement_proofs.json`, which `make coverage-map` reads. Only unit and contract tests are
judged; a requirement that only system tests claim is judged by those, whose programs are switched
off as well.
"""

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.mutants.areas import ROOT, TESTS
from tests.mutants.features import (
    FEATURES,
    VARIABLE,
    Feature,
    check,
    modules,
    read_features,
    switch_off,
    tests_near,
)
from tests.mutants.forks import Collected, Job, collect, run_jobs
from tests.mutants.inject import LiveFunctions
from tests.mutants.trace import FOLDER, Trace, kept_files
from tools.coverage_map import collect as read_marks

PROOFS = ROOT / "tools/requirement_proofs.json"
_PER_FORK = 40
_LIMIT_S = 60.0
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
    wanted = options.ids or list(features)
    marks = read_marks((ROOT / "tests").rglob("*.py"), root=ROOT)
    claims: dict[str, set[str]] = {}
    for claim in marks.claims:
        claims.setdefault(claim.requirement, set()).add(claim.test)
    folders = TESTS if not options.system else ("tests/system",)
    proofs = read_proofs()
    collect(
        folders,
        lambda found: _prove(
            found,
            {one: features[one] for one in wanted},
            claims,
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
    trace = Trace(kept_files(FOLDER).values())
    failed: dict[str, set[str]] = {requirement: set() for requirement in features}
    jobs = list(_jobs(collected, features, claims, live, trace, options=options))
    start = time.monotonic()
    for done, end in enumerate(run_jobs(collected, iter(jobs), workers=options.workers), start=1):
        requirement = end.job.key
        lost = [one.id for one in end.ended if not one.passed]
        lost += [end.running] if end.running else []
        if end.broke and not end.ended:
            print(f"\n{requirement}: {end.broke.strip().splitlines()[-1]}", file=sys.stderr)
        failed[requirement].update(test.partition("[")[0] for test in lost)
        seconds = time.monotonic() - start
        print(f"\r{done}/{len(jobs)} forks, {seconds:.0f} s ", end="", file=sys.stderr, flush=True)
    for requirement, tests in failed.items():
        proofs[requirement] = {
            "without": features[requirement].places(),
            "tests": {test: known[test] for test in sorted(tests)},
        }


def _jobs(
    collected: Collected,
    features: dict[str, Feature],
    claims: dict[str, set[str]],
    live: LiveFunctions,
    trace: Trace,
    *,
    options: argparse.Namespace,
) -> Iterator[Job]:
    for requirement, feature in features.items():
        near = None if options.system else tests_near(feature, trace)
        tests = [
            test
            for test in collected.items
            if test.partition("[")[0] in claims.get(requirement, ())
            and (near is None or test in near)
        ]
        for at in range(0, len(tests), _PER_FORK):
            yield _job(requirement, feature, tests[at : at + _PER_FORK], live, options)


def _job(
    requirement: str,
    feature: Feature,
    tests: Sequence[str],
    live: LiveFunctions,
    options: argparse.Namespace,
) -> Job:
    def before() -> None:
        os.environ[VARIABLE] = requirement
        switch_off(feature, live)

    return Job(
        key=requirement,
        tests=tests,
        limit_s=lambda _test: _LIMIT_S * options.patience,
        before=before,
        goes_on=True,
    )


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants.prove",
        description="Record which tests fail when the code of their requirement is switched off.",
    )
    parser.add_argument("ids", nargs="*", help="requirements (default: all)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--patience", type=float, default=1.0, help="stretches every time limit")
    parser.add_argument("--system", action="store_true", help="judge the system tests instead")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
