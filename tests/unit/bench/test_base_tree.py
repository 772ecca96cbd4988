"""Another commit under the bench: how it is driven, and where its gateways come from."""

import sys
from pathlib import Path

import pytest

from bench.base_tree import (
    Harness,
    Tree,
    choose_harness,
    find_commit,
    harness_environment,
    this_tree,
)
from bench.gateway import environment, hermes_command
from bench.registry import choose


def other_tree(root: Path) -> Tree:
    """Return a tree whose package has none of the modules that the bench imports."""
    (root / "src" / "hermes").mkdir(parents=True)
    (root / "src" / "hermes" / "__init__.py").touch()
    return Tree(root, sys.executable)


@pytest.mark.parametrize(
    ("name", "harness"), [("turns", "gateways"), ("models", "gateways"), ("graph", "own")]
)
def test_a_base_with_other_modules_is_driven_by_its_gateways_or_its_own_bench(
    tmp_path: Path, name: str, harness: str
) -> None:
    (group,) = choose([name])

    assert choose_harness(group, other_tree(tmp_path)) == harness


def test_a_base_with_the_same_modules_is_driven_by_this_bench() -> None:
    (group,) = choose(["turns"])

    assert choose_harness(group, this_tree()) == "shared"


def test_only_the_gateways_come_from_the_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = Tree(tmp_path, "/base/python")

    for name, value in harness_environment("gateways", base).items():
        monkeypatch.setenv(name, value)

    assert "PYTHONPATH" not in harness_environment("gateways", base)
    assert environment(None, tmp_path)["PYTHONPATH"] == str(tmp_path / "src")
    assert hermes_command("up") == ["/base/python", "-m", "hermes", "up"]


@pytest.mark.parametrize("harness", ["shared", "own"])
def test_otherwise_the_bench_itself_has_the_packages_of_the_base(
    tmp_path: Path, harness: Harness
) -> None:
    found = harness_environment(harness, Tree(tmp_path, "python"))

    assert found == {"PYTHONPATH": str(tmp_path / "src")}


def test_a_commit_that_is_not_there_is_named() -> None:
    with pytest.raises(RuntimeError, match="no commit 'no-such-commit'; fetch it, or name another"):
        find_commit("no-such-commit")
