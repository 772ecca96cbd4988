"""One run of a comparison: a process over a tree, whose numbers are read where that tree writes them."""

import sys
from pathlib import Path

import pytest

from bench.base_tree import Tree
from bench.compare import run_once
from bench.registry import choose

WRITES = """
import pathlib, sys
assert sys.argv[1:] == ["--only", "turns"], sys.argv
out = pathlib.Path("bench/out/latest.json")
out.parent.mkdir()
out.write_text('{"cpu_ms_per_turn_50": 1.5}')
"""


def tree_with_bench(root: Path, program: str) -> Tree:
    (root / "bench").mkdir()
    (root / "bench" / "__main__.py").write_text(program)
    return Tree(root, sys.executable)


def test_a_tree_with_a_bench_of_its_own_is_run_as_it_knows(tmp_path: Path) -> None:
    (group,) = choose(["turns"])

    run = run_once(group, tree_with_bench(tmp_path, WRITES), harness="own", small=True)

    assert run.numbers == {"cpu_ms_per_turn_50": 1.5}
    assert run.piece_ms > 0


def test_a_run_that_fails_says_what_failed(tmp_path: Path) -> None:
    (group,) = choose(["turns"])
    tree = tree_with_bench(tmp_path, "raise SystemExit('no model server')")

    with pytest.raises(
        RuntimeError, match=r"--only turns` failed .*harness own(.|\n)*no model server"
    ):
        run_once(group, tree, harness="own", small=False)
