"""Measures and removes folders that a program may have filled: of any depth, and with any names.

Nothing here recurses or keeps a folder open for each level, so neither Python's stack nor the limit
of open files ends it. No link is followed.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from hermes.errors import TooLarge

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK: Final = 512
# What an entry takes at least: an empty file and a folder fill the disk's tables, too.
_LEAST: Final = 4_096
_TRIES: Final = 5
_Identity = tuple[int, int]


class _MovedMeanwhile(Exception):
    """A folder was moved while it was measured."""


def used_bytes(root: Path) -> int:
    """Return how much everything below a folder takes on the disk, at least 4 kB for each entry.

    Raises `TooLarge` if folders are moved about all the time.
    """
    for _ in range(_TRIES):
        try:
            return sum(_sizes(root))
        except _MovedMeanwhile:
            continue
    raise TooLarge(
        "The working folder cannot be measured, because a program keeps moving its folders: stop it."
    )


def remove_tree(folder: Path) -> None:
    """Remove a folder with everything in it, also what a program has closed; none is fine.

    Folders are lifted to the top before they are removed, so depth does not matter.
    """
    try:
        folder.chmod(0o700)
        top = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return
    try:
        while below := _emptied(top):
            for name in below:
                _lift(name, top)
    finally:
        os.close(top)
    folder.rmdir()


def _sizes(root: Path) -> Iterator[int]:
    """Yield what each entry takes; goes down and up again with one folder open."""
    folder = os.open(root, _FOLDER)
    left = [(_identity(folder), _Entries(folder))]
    try:
        yield from left[-1][1].sizes
        while left:
            name = left[-1][1].next_folder()
            if name is not None:
                below = _opened(name, folder)
                if below is not None:
                    os.close(folder)
                    folder = below
                    left.append((_identity(folder), _Entries(folder)))
                    yield from left[-1][1].sizes
                continue
            left.pop()
            if left:
                folder = _above(folder, left[-1][0])
    finally:
        os.close(folder)


class _Entries:
    """What is in one open folder: sizes, and the names of its folders."""

    def __init__(self, folder: int) -> None:
        self.sizes: list[int] = []
        self._folders: list[str] = []
        with os.scandir(folder) as entries:
            for one in entries:
                try:
                    status = one.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                self.sizes.append(max(status.st_blocks * _BLOCK, _LEAST))
                if stat.S_ISDIR(status.st_mode):
                    self._folders.append(one.name)

    def next_folder(self) -> str | None:
        return self._folders.pop() if self._folders else None


def _opened(name: str, folder: int) -> int | None:
    """Open a folder, also one that a program has closed; None if it was removed or exchanged."""
    with suppress(OSError):
        with suppress(PermissionError):
            return os.open(name, _FOLDER, dir_fd=folder)
        _unlock(name, folder)
        return os.open(name, _FOLDER, dir_fd=folder)
    return None


def _unlock(name: str, folder: int) -> None:
    """Let its owner read and change a folder; what was exchanged for a link is left alone."""
    # A folder without rights can be found, and not opened.
    found = os.open(name, os.O_PATH | _FOLDER, dir_fd=folder)
    try:
        Path(f"/proc/self/fd/{found}").chmod(0o700)
    finally:
        os.close(found)


def _above(folder: int, expected: _Identity) -> int:
    """Close a folder and return the one above it, if that is the expected one."""
    above = os.open("..", _FOLDER, dir_fd=folder)
    if _identity(above) != expected:
        os.close(above)
        raise _MovedMeanwhile
    os.close(folder)
    return above


def _identity(folder: int) -> _Identity:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino


def _emptied(folder: int) -> list[str]:
    """Remove everything of an open folder but folders that are not empty; return those."""
    left: list[str] = []
    for name in os.listdir(folder):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)
            continue
        # What its program has closed could be neither listed nor moved.
        _unlock(name, folder)
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError:
            left.append(name)
    return left


def _lift(name: str, top: int) -> None:
    """Empty a folder, move the folders in it to the top, and remove it."""
    folder = os.open(name, _FOLDER, dir_fd=top)
    try:
        for one in _emptied(folder):
            os.rename(one, secrets.token_hex(8), src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)
