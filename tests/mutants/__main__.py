"""`python -m tests.mutants`: draw faults by a seed, run the tests that can notice each, print the score.

exit status: 0 enough of them were noticed; 1 too few, or a list does not fit the code; 2 wrong
arguments.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.areas import AREAS, TESTS, all_faults
from tests.mutants.faults import Fault, choose
from tests.mutants.forks import Collected, collect
from tests.mutants.lists import BadList, Equivalent, equivalents, named_faults, stale
from tests.mutants.report import ENOUGH, Results, as_json, describe, scores, survivors, table
from tests.mutants.run import Runner
from tests.mutants.select import Selector
from tests.mutants.trace import FOLDER, Trace, kept_files, trace_missing

EXAMPLES = """examples:
  make mutants                      440 faults of the default seed
  make mutants ONLY=calls           those of one area
  make mutants SEED=2 COUNT=1000    others, and more of them
  make mutants RESUME=1             go on where the last run stopped
  make mutants ARGS=--again         judge again what the last run did not notice
  make mutants ARGS=--json          for programs
  make mutants ARGS='--match budgets.py --every'   every fault of a file
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print, and say by the exit code whether enough was noticed."""
    options = _parse(arguments)
    try:
        same = equivalents()
        faults = _chosen(options, same)
    except BadList as problem:
        print(problem, file=sys.stderr)
        return 1
    if options.list:
        for fault in faults:
            print(f"{fault.path}:{fault.line} [{fault.operator}] {fault.before} -> {fault.after}")
        return 0
    results = Results(options.folder / "results.jsonl")
    killers = results.killers()
    known = [one.fault for one in results.verdicts.values() if one.caught or not options.again]
    if not (options.resume or options.again):
        known = []
        (options.folder / "results.jsonl").unlink(missing_ok=True)
        results = Results(options.folder / "results.jsonl")
    waiting = [one for one in faults if one.identity not in same and one.identity not in known]
    if waiting:
        os.nice(max(0, 10 - os.nice(0)))
        collect(
            options.tests or TESTS, lambda found: _judge(found, waiting, results, options, killers)
        )
    return _finish(faults, results, same, options)


def _chosen(options: argparse.Namespace, same: dict[str, Equivalent]) -> list[Fault]:
    everything = list(all_faults())
    gone = stale(same, everything)
    if gone:
        raise BadList(
            "equivalents.toml names faults that the code no longer has; remove or correct them:\n"
            + "\n".join(gone)
        )
    named = named_faults()
    wanted = [one for one in everything if options.only in ("", one.area)]
    drawn = [one for one in wanted if options.match in f"{one.path}::{one.function}"]
    if not options.every:
        drawn = choose(drawn, seed=options.seed, count=options.count)
    also = [
        one
        for one in named
        if options.only in ("", one.area, "named")
        and options.match in f"{one.path}::{one.function}"
    ]
    return [*also, *drawn]


def _judge(
    collected: Collected,
    faults: list[Fault],
    results: Results,
    options: argparse.Namespace,
    killers: dict[str, str],
) -> None:
    start = time.monotonic()
    for done, of in trace_missing(
        collected,
        folder=options.folder,
        workers=options.workers,
        patience=options.patience,
        again=options.trace,
    ):
        _progress(f"which test runs which line: {done}/{of}", start)
    trace = Trace(kept_files(options.folder).values())
    runner = Runner(
        collected,
        trace,
        workers=options.workers,
        patience=options.patience,
        killers=killers,
        most_tests=options.most_tests,
        select=Selector(trace).tests,
    )
    start = time.monotonic()
    missed = 0
    for done, verdict in enumerate(runner.judge(faults), start=1):
        results.add(verdict)
        missed += not verdict.caught
        _progress(f"{done}/{len(faults)} faults, {missed} not noticed", start)
    print(file=sys.stderr)


def _progress(text: str, start: float) -> None:
    print(f"\r{text}, {time.monotonic() - start:.0f} s ", end="", file=sys.stderr, flush=True)


def _finish(
    faults: list[Fault],
    results: Results,
    same: dict[str, Equivalent],
    options: argparse.Namespace,
) -> int:
    found = scores(faults, results.verdicts, same)
    if options.json:
        print(as_json(faults, results.verdicts, same, seed=options.seed))
    else:
        for fault in survivors(faults, results.verdicts, same):
            print(describe(fault, results.verdicts[fault.identity]), end="\n\n")
        print(table(found))
    judged = found["all"].caught + found["all"].survived + found["all"].equivalent
    if judged < len(faults):
        print(f"{len(faults) - judged} of {len(faults)} faults were not judged", file=sys.stderr)
        return 1
    return 0 if found["all"].share >= ENOUGH else 1


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description="Put faults into Hermes and check that a test notices each of them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=440, help="how many faults to draw")
    parser.add_argument("--only", default="", choices=["", "named", *AREAS], help="one area")
    parser.add_argument("--match", default="", help="only where `path::function` contains this")
    parser.add_argument("--every", action="store_true", help="every fault, not only those drawn")
    parser.add_argument("--resume", action="store_true", help="keep the verdicts of the last run")
    parser.add_argument(
        "--again", action="store_true", help="judge again what the last run did not notice"
    )
    parser.add_argument("--trace", action="store_true", help="trace every test again")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--patience", type=float, default=1.0, help="stretches every time limit")
    parser.add_argument(
        "--most-tests", type=int, default=600, help="how many tests of mean length a fault may take"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--list", action="store_true", help="print the faults, run nothing")
    parser.add_argument(
        "--tests", nargs="*", help="test files or folders (default: all that count)"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results are kept")
    options = parser.parse_args(arguments)
    if options.count < 1 or options.workers < 1:
        parser.error("--count and --workers are at least 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
