"""A skill as files in memory: read from a folder, and checked.

Whoever made them is not trusted. Paths stay below the skill, nothing is a link or a device, and
number, sizes and the whole size are bounded by what is really read, not by what an archive says.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from hermes.errors import BadRequest, NotFound, TooLarge
from hermes.skills.skill_file import FILE, SkillFile, read_skill_file

MOST_PACKED: Final = 1_400_000
MOST_DOWNLOADED: Final = 10_000_000
_MOST_FILES: Final = 300
MOST_FILE: Final = 2_000_000
_MOST_BYTES: Final = 8_000_000
_MOST_DEPTH: Final = 8
MOST_PATH: Final = 200
# What version control, editors and Python leave behind.
LEFT_OUT: Final = frozenset({".git", ".DS_Store", "__pycache__", "__MACOSX"})
_EXECUTABLE: Final = 0o100


class PackedFile(msgspec.Struct, frozen=True):
    """One file of a skill, by its path below the skill's folder."""

    path: str
    content: bytes
    is_executable: bool = False


class SkillPackage(msgspec.Struct, frozen=True):
    """A checked skill: what its SKILL.md says, and all its files in the order of their paths."""

    file: SkillFile
    files: tuple[PackedFile, ...]

    @property
    def name(self) -> str:
        """The name of the skill, which is that of its folder."""
        return self.file.name


def package_of(files: Iterable[PackedFile]) -> SkillPackage:
    """Return the skill that files are; raises `BadRequest` if they are none."""
    ordered = tuple(sorted(files, key=lambda one: one.path))
    for one in ordered:
        _check_path(one.path)
    _check_folders({one.path for one in ordered})
    main = next((one for one in ordered if one.path == FILE), None)
    if main is None:
        raise BadRequest(f"There is no {FILE} in it, so it is not a skill.")
    _check_sizes(ordered)
    return SkillPackage(read_skill_file(main.content), ordered)


def read_folder(folder: Path) -> SkillPackage:
    """Return the skill in a folder of this machine."""
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}: name one that has a {FILE}.")
    found: list[PackedFile] = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - LEFT_OUT)
        for name in (*folders, *sorted(set(names) - LEFT_OUT)):
            place = Path(here, name)
            status = place.lstat()
            if stat.S_ISDIR(status.st_mode):
                continue
            if not stat.S_ISREG(status.st_mode):
                raise BadRequest(f"{place} is a link or a device: a skill has plain files only.")
            path = place.relative_to(folder).as_posix()
            check_room(found, path, status.st_size)
            found.append(PackedFile(path, place.read_bytes(), is_executable_mode(status.st_mode)))
    return package_of(found)


def check_room(found: list[PackedFile], path: str, size: int) -> None:
    """Raise `TooLarge` if a skill with these files has no room for one more."""
    if size > MOST_FILE:
        raise TooLarge(f"{path[:80]} has more than {MOST_FILE:,} bytes, the most for one file.")
    if len(found) >= _MOST_FILES:
        raise TooLarge(f"The skill has more than {_MOST_FILES} files.")
    if sum(len(one.content) for one in found) + size > _MOST_BYTES:
        raise TooLarge(f"The skill has more than {_MOST_BYTES:,} bytes.")


def _check_sizes(files: tuple[PackedFile, ...]) -> None:
    counted: list[PackedFile] = []
    for one in files:
        check_room(counted, one.path, len(one.content))
        counted.append(one)


def check_inside(path: str) -> None:
    """Refuse a path that leaves its folder, on any system."""
    parts = path.split("/")
    is_odd = "\\" in path or ":" in parts[0] or not path.isprintable()
    if is_odd or path.startswith("/") or ".." in parts or len(path) > 4 * MOST_PATH:
        raise BadRequest(f"The path {path[:80]!r} leaves the folder of the skill, or is not plain.")


def _check_path(path: str) -> None:
    check_inside(path)
    parts = path.split("/")
    if "" in parts or "." in parts or len(parts) > _MOST_DEPTH or len(path) > MOST_PATH:
        raise BadRequest(
            f"The path {path[:80]!r} is not plain: at most {_MOST_DEPTH} parts and {MOST_PATH} characters."
        )


def _check_folders(paths: set[str]) -> None:
    for path in paths:
        above = next((one for one in _above(path) if one in paths), None)
        if above is not None:
            raise BadRequest(f"{above[:80]} is a file, and also the folder of {path[:80]}.")


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def is_executable_mode(mode: int) -> bool:
    """Return whether the owner may run a file."""
    return bool(mode & _EXECUTABLE)
