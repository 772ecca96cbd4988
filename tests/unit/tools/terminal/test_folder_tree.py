"""Folders that a program has filled to harm whoever measures or removes them."""

import os
from pathlib import Path

import pytest

from hermes.tools.terminal.folder_tree import remove_tree, used_bytes

DEPTH = 3_000
OPEN_FILES = Path("/proc/self/fd")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


def nest(root: Path, depth: int, *, last: bytes) -> None:
    """Make folders in each other, as deep as no path could name, with a file at the end."""
    folder = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    file = os.open("last", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    os.write(file, last)
    os.close(file)
    os.close(folder)


@pytest.mark.req("W42")
def test_a_very_deep_folder_is_measured_and_removed(root: Path) -> None:
    nest(root, DEPTH, last=b"x" * 1_000_000)
    (root / "wide").mkdir()
    (root / "wide" / "file").write_bytes(b"x")

    before = len(list(OPEN_FILES.iterdir()))
    used = used_bytes(root)
    remove_tree(root)

    assert DEPTH * 4_096 + 1_000_000 <= used < DEPTH * 4_096 + 1_100_000
    assert not root.exists()
    assert len(list(OPEN_FILES.iterdir())) == before


@pytest.mark.req("W42")
def test_what_takes_no_block_counts_too(root: Path) -> None:
    for number in range(100):
        (root / f"empty{number}").touch()
    with (root / "sparse").open("wb") as file:
        file.truncate(1_000_000_000)

    assert used_bytes(root) == 101 * 4_096


@pytest.mark.req("W42", "J24")
def test_nothing_behind_a_link_is_measured_or_removed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o750)
    (outside / "kept").write_bytes(b"x" * 1_000_000)
    (root / "link").symlink_to(outside)
    (root / "deeper").mkdir()
    (root / "deeper" / "link").symlink_to(outside)

    used = used_bytes(root)
    remove_tree(root)

    assert used < 20_000
    assert (outside / "kept").stat().st_size == 1_000_000
    assert outside.stat().st_mode & 0o777 == 0o750


@pytest.mark.req("W42")
def test_what_is_not_there_is_removed_already(root: Path) -> None:
    remove_tree(root / "never")
