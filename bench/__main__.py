"""`python -m bench`: run the groups, print the tables, write `bench/out/latest.json`.

The exit code is 0 also when a number misses its target, because a busy machine must not look like
a broken program; `--check` makes it 1. Something that did not run at all is always an error.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import bench.groups
import bench.peers
from bench.fixed_piece import FIXED_PIECE_VERSION, fixed_piece_ms
from bench.process import load_average
from bench.registry import Group, Target, choose
from bench.report import OUT, Progress, machine_lines, result_rows, table, write

_NUMBERS = frozenset({1, 2})
_PIECES = 9
_EXAMPLES = """examples:
  make bench                     every group
  make bench ONLY=turns          one group
  make bench ARGS=--check        exit code 1 when a number misses its target
  make bench-peers               Hermes beside its peers, added to the numbers that are there
"""


def main() -> int:
    """Run what the command line asks for; returns the exit code."""
    options = _options()
    try:
        groups = choose(options.only, bench.peers if options.peers else bench.groups)
    except LookupError as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 2
    numbers: dict[str, float] = {
        "load_average_before": load_average(),
        "fixed_piece_version": FIXED_PIECE_VERSION,
        "fixed_piece_ms_before": fixed_piece_ms(_PIECES),
    }
    is_whole = True
    for group in groups:
        is_whole &= _run(group, numbers, small=options.small)
    numbers["load_average_after"] = load_average()
    numbers["fixed_piece_ms_after"] = fixed_piece_ms(_PIECES)
    targets = {name: target for group in groups for name, target in group.targets.items()}
    _print(groups, numbers, targets=targets)
    path = write(numbers, options.out, keep=options.peers)
    print(f"\nwritten to {path}")
    missed = [
        name
        for name, target in targets.items()
        if name in numbers and not target.is_met(numbers[name])
    ]
    if missed:
        print(f"over target: {', '.join(missed)}")
    return 1 if not is_whole or (missed and options.check) else 0


def _run(group: Group, numbers: dict[str, float], *, small: bool) -> bool:
    """Add the numbers of a group; returns whether it ran to its end."""
    progress = Progress()
    run = group.run_small if small and group.run_small is not None else group.run
    try:
        for measured in run(lambda text: progress(f"{group.name}: {text}")):
            numbers |= measured
    except (RuntimeError, OSError, subprocess.SubprocessError) as problem:
        progress.done()
        print(f"bench: {group.name} broke off: {problem}", file=sys.stderr)
        return False
    progress.done()
    return True


def _print(
    groups: list[Group],
    numbers: dict[str, float],
    *,
    targets: dict[str, Target],
) -> None:
    print("\n".join(machine_lines(numbers, cores=os.cpu_count() or 1)))
    for group in groups:
        print(f"\n{group.name}: {group.about}")
        print(table(list(group.settings().items())))
    print()
    print(table(result_rows(numbers, targets), right=_NUMBERS))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure Hermes and print the numbers beside their targets.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", default=[], help="a group; may be repeated")
    parser.add_argument("--peers", action="store_true", help="the peers, not the groups")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    parser.add_argument(
        "--small", action="store_true", help="shorter, CPU figures only, where a group can"
    )
    parser.add_argument(
        "--out", type=Path, default=OUT, metavar="FILE", help="where to write the numbers"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
