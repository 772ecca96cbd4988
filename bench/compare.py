"""`python -m bench.compare`: is this tree slower than another commit? Alternating runs of both say.

Each run is a process of its own: the base, this tree, the base, and so on. What is compared are CPU
figures in fixed pieces; a figure is slower only if it is so in every pair (`bench/pairs.py`).
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import msgspec

from bench.base_tree import (
    Harness,
    Tree,
    base_tree,
    choose_harness,
    find_commit,
    harness_environment,
    this_tree,
)
from bench.fixed_piece import FIXED_PIECE_VERSION, fixed_piece_ms
from bench.pairs import LIMIT, Compared, Pair, Run, compare
from bench.registry import Group, choose
from bench.report import OUT, Progress, table

_RUN_S = 7_200.0
_PIECES = 9
_BAR = 20
_NUMBERS = frozenset({1, 2, 3})
_FAILURES = (RuntimeError, OSError, subprocess.SubprocessError)
_EXAMPLES = """examples:
  make bench-pairs BASE=v1.0                          every group, ten pairs
  make bench-pairs BASE=HEAD~5 ONLY=turns PAIRS=3     one group, three pairs
  make bench-pairs BASE=HEAD~5 ARGS=--small           shorter runs, where a group can
  make bench-pairs BASE=HEAD~5 ARGS=--json            JSON instead of tables
"""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One group compared with the base, over the pairs before the problem if there was one."""

    group: str
    base: str
    harness: Harness
    pairs: int
    limit: float
    fixed_piece_version: int
    figures: list[Compared]
    left_out: tuple[str, ...]
    problem: str | None = None


def main() -> int:
    """Compare what the command line asks for; returns the exit code."""
    options = _options()
    try:
        groups = choose(options.only)
        commit = find_commit(options.base)
        base = base_tree(commit)
        reports = [_compare_group(group, base, commit=commit, options=options) for group in groups]
    except (LookupError, *_FAILURES) as problem:
        print(f"bench.compare: {problem}", file=sys.stderr)
        return 2
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(reports), indent=2).decode())
    else:
        print("\n\n".join(_text(report) for report in reports))
    for report in reports:
        if report.problem is not None:
            print(f"bench.compare: {report.group} broke off: {report.problem}", file=sys.stderr)
    if any(report.problem is not None for report in reports):
        return 2
    slower = [one for report in reports for one in report.figures if one.verdict == "slower"]
    return 1 if slower and options.check else 0


def _compare_group(group: Group, base: Tree, *, commit: str, options: argparse.Namespace) -> Report:
    harness = options.harness or choose_harness(group, base)
    left_out = group.library_figures if harness == "gateways" else ()
    pairs, problem = _run_pairs(group, base, harness=harness, options=options)
    return Report(
        group=group.name,
        base=commit,
        harness=harness,
        pairs=len(pairs),
        limit=LIMIT,
        fixed_piece_version=FIXED_PIECE_VERSION,
        figures=compare(pairs, left_out=left_out),
        left_out=left_out,
        problem=problem,
    )


def _run_pairs(
    group: Group, base: Tree, *, harness: Harness, options: argparse.Namespace
) -> tuple[list[Pair], str | None]:
    """Return the pairs until a run fails, and why it did."""
    bar, trees = _Bar(2 * options.pairs), {"base": base, "this tree": this_tree()}
    pairs: list[Pair] = []
    try:
        for number in range(options.pairs):
            runs: list[Run] = []
            for name, tree in trees.items():
                bar.show(2 * number + len(runs), f"{group.name}, {name}")
                runs.append(run_once(group, tree, harness=harness, small=options.small))
            pairs.append(Pair(*runs))
    except _FAILURES as failure:
        return pairs, str(failure)
    finally:
        bar.done()
    return pairs, None


def run_once(group: Group, tree: Tree, *, harness: Harness, small: bool) -> Run:
    """Run the bench over a tree, between two fixed pieces; raises `RuntimeError` if it fails."""
    before = fixed_piece_ms(_PIECES)
    with tempfile.TemporaryDirectory() as folder:
        out, is_other = Path(folder, "numbers.json"), tree.root != Path.cwd()
        if harness == "own" and is_other:
            # Its bench may know no other place to write to, and no small runs.
            out, options = tree.root / OUT, []
        else:
            shorter = ["--small"] if small and harness != "own" else []
            options = ["--out", str(out), *shorter]
        root = tree.root if harness == "own" else Path.cwd()
        _bench(group, tree, harness=harness, root=root, options=options)
        numbers = msgspec.json.decode(out.read_bytes(), type=dict[str, float])
    return Run(numbers, (before + fixed_piece_ms(_PIECES)) / 2)


def _bench(
    group: Group, tree: Tree, *, harness: Harness, root: Path, options: Sequence[str]
) -> None:
    python = sys.executable if harness == "gateways" else tree.python
    ended = subprocess.run(
        [python, "-m", "bench", "--only", group.name, *options],
        cwd=root,
        env={**os.environ, **harness_environment(harness, tree)},
        capture_output=True,
        timeout=_RUN_S,
        check=False,
    )
    if ended.returncode != 0:
        raise RuntimeError(
            f"`python -m bench --only {group.name}` failed for {tree.root} (harness {harness}); "
            f"try another --harness:\n{ended.stderr.decode()[-2000:]}"
        )


class _Bar:
    """A progress bar on standard error."""

    def __init__(self, runs: int) -> None:
        self._runs, self._progress, self._started = runs, Progress(), monotonic()

    def show(self, done: int, text: str) -> None:
        """Show how many runs are done, which one runs, and how long the rest may take."""
        filled = "#" * (_BAR * done // self._runs)
        left = (monotonic() - self._started) / done * (self._runs - done) if done else None
        time = f"; about {left / 60:.0f} min left" if left is not None else ""
        self._progress(f"[{filled.ljust(_BAR, '.')}] {done} of {self._runs} runs: {text}{time}")

    def done(self) -> None:
        """Leave the line clean for what follows."""
        self._progress.done()


def _text(report: Report) -> str:
    how = {
        "shared": "this tree's bench with the packages of either tree",
        "gateways": "this tree's bench; the gateways of either tree",
        "own": "each tree's own bench",
    }[report.harness]
    lines = [f"{report.group}: {report.pairs} pairs with {report.base[:12]}, by {how}"]
    if report.figures:
        lines.append(table(_rows(report.figures), right=_NUMBERS))
    else:
        lines.append("no CPU figure that both have")
    if report.left_out:
        names = ", ".join(f"{name}..." for name in report.left_out)
        lines.append(f"left out, measured in the bench's own process: {names}")
    return "\n".join(lines)


def _rows(figures: Sequence[Compared]) -> list[tuple[str, str, str, str, str]]:
    rows = [("figure", "median ratio", "least", "most", "verdict")]
    for one in figures:
        shown = [f"{value:.3f}" for value in (one.median, one.low, one.high)]
        rows.append((one.figure, shown[0], shown[1], shown[2], one.verdict))
    return rows


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.compare",
        description=(
            "Compare the CPU figures of this tree with those of another commit. A figure is slower "
            f"if it is more than {LIMIT:g} times that of the base in every pair of runs."
        ),
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--base", required=True, help="the commit to compare with")
    parser.add_argument("--only", action="append", default=[], help="a group; may be repeated")
    parser.add_argument("--pairs", type=_count, default=10, help="how many pairs of runs")
    parser.add_argument("--small", action="store_true", help="shorter runs, where a group can")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--check", action="store_true", help="fail if a figure is slower")
    parser.add_argument(
        "--harness",
        choices=["shared", "gateways", "own"],
        help="how the base is driven; found out by default",
    )
    return parser.parse_args()


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"expected at least one pair, found {count}")
    return count


if __name__ == "__main__":
    sys.exit(main())
