"""Another commit of this repository as a tree of files, and how the bench can drive it."""

import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Literal

import msgspec

from bench.gateway import OTHER_PYTHON, OTHER_SRC
from bench.registry import Group

Harness = Literal["shared", "gateways", "own"]

FOLDER = Path("build/bench-base")
_GIT_S, _SETUP_S, _IMPORT_S = 120.0, 1_800.0, 120.0
_LOCKS = ("runtime.txt", "model.txt", "recall.txt")


class Tree(msgspec.Struct, frozen=True):
    """A tree and the interpreter that has its packages."""

    root: Path
    python: str

    @property
    def src(self) -> str:
        """Where its packages are."""
        return str(self.root / "src")


def this_tree() -> Tree:
    """Return the tree that the bench was started in."""
    return Tree(Path.cwd(), sys.executable)


def find_commit(base: str) -> str:
    """Return the full name of a commit; raises `RuntimeError` if there is none."""
    return _git(
        "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}", problem=f"no commit {base!r}"
    )


def base_tree(commit: str) -> Tree:
    """Unpack a commit below `build/`, once; packages are installed only if its locks differ."""
    root = (FOLDER / commit[:12]).absolute()
    if not (root / "src").is_dir():
        packed = subprocess.run(
            ["git", "archive", commit], capture_output=True, check=True, timeout=_GIT_S
        )
        with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
            archive.extractall(root, filter="data")
    if _locks(root) == _locks(Path.cwd()):
        return Tree(root, sys.executable)
    # Installs into the tree's own `.venv`.
    subprocess.run(
        [sys.executable, "tools/set_up.py"],
        cwd=root,
        check=True,
        timeout=_SETUP_S,
        stdout=sys.stderr,
    )
    return Tree(root, str(root / ".venv" / "bin" / "python"))


def choose_harness(group: Group, base: Tree) -> Harness:
    """Return how to drive the base so that as much as possible is measured by the same code.

    `shared`: this tree's bench with the packages of either tree, if its imports exist in the base.
    `gateways`: this tree's bench and packages; only `hermes` commands are run from the base.
    `own`: each tree's own bench.
    """
    ended = subprocess.run(
        [base.python, "-c", f"import bench.groups.{group.name}"],
        env={"PYTHONPATH": base.src},
        capture_output=True,
        timeout=_IMPORT_S,
        check=False,
    )
    if ended.returncode == 0:
        return "shared"
    return "gateways" if group.has_gateway_cpu else "own"


def harness_environment(harness: Harness, tree: Tree) -> dict[str, str]:
    """Return the variables of a run of the bench over a tree."""
    if harness == "gateways":
        return {OTHER_SRC: tree.src, OTHER_PYTHON: tree.python}
    return {"PYTHONPATH": tree.src}


def _locks(root: Path) -> list[str]:
    files = [root / "requirements" / name for name in _LOCKS]
    return [file.read_text(encoding="utf-8") if file.exists() else "" for file in files]


def _git(*arguments: str, problem: str) -> str:
    ended = subprocess.run(
        ["git", *arguments], capture_output=True, text=True, check=False, timeout=_GIT_S
    )
    if ended.returncode != 0:
        raise RuntimeError(f"{problem}; fetch it, or name another commit as BASE")
    return ended.stdout.strip()
