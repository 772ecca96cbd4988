"""Files below a folder that a program may have filled: no link leads out of it.

Every part of a path is opened below the part before it, and none may be a symbolic link. So a
program that exchanges a folder for a link meanwhile gains nothing. Sizes and counts are bounded.
"""

import os
import posixpath
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from hermes.errors import BadRequest, NotFound, TooLarge
from hermes.ports.work_files import WorkFile

MOST_ENTRIES: Final = 2_000
_MOST_WALKED: Final = 100_000
_MOST_DEPTH: Final = 40
_MOST_PATH: Final = 1_000
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    """Files in the order of their paths; `is_cut` says that there are more."""

    files: tuple[WorkFile, ...]
    is_cut: bool


class FilesBeneath:
    """The files of one folder. `place` is where programs see it, `owner_id` whose files they are."""

    def __init__(self, root: Path, *, place: str, owner_id: int | None = None) -> None:
        self._root = root
        self._place = place
        self._owner_id = owner_id

    def read(self, path: str, *, limit: int) -> bytes:
        """Return a file of at most `limit` bytes."""
        with self._parent_of(path) as (folder, name), _opened(folder, name, path) as descriptor:
            size = os.fstat(descriptor).st_size
            data = _content(descriptor, limit + 1)
            if len(data) > limit:
                raise TooLarge(f"{path} has {size:,} bytes; at most {limit:,} are read.")
            return data

    def has(self, path: str) -> bool:
        """Return whether there is anything at a path."""
        try:
            with self._parent_of(path) as (folder, name):
                return _status(folder, name) is not None
        except NotFound:
            return False

    def write(self, path: str, data: bytes) -> bool:
        """Write a file whole or not at all; return whether it is new. Makes missing folders."""
        with self._parent_of(path, make=True) as (folder, name):
            before = _status(folder, name)
            if before is not None and not stat.S_ISREG(before.st_mode):
                raise BadRequest(f"{path} exists and is not a file: choose another name.")
            mode = 0o644 if before is None else stat.S_IMODE(before.st_mode)
            draft = f".{secrets.token_hex(8)}.part"
            descriptor = os.open(draft, _NEW, 0o600, dir_fd=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    self._give_away(file.fileno(), mode)
                    os.fsync(file.fileno())
                os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(draft, dir_fd=folder)
                raise
            return before is None

    def remove(self, path: str) -> None:
        """Delete a file; a link is deleted itself."""
        with self._parent_of(path) as (folder, name):
            try:
                os.unlink(name, dir_fd=folder)
            except FileNotFoundError:
                raise NotFound(_none(path)) from None
            except (IsADirectoryError, PermissionError):
                raise BadRequest(f"{path} is a folder: name a file in it.") from None

    def list(self, path: str = "", *, most: int = MOST_ENTRIES) -> FileList:
        """Return the files below a folder, at any depth."""
        found: list[WorkFile] = []
        for one, _ in self._walk(path):
            found.append(one)
            if len(found) > most:
                break
        return FileList(
            files=tuple(sorted(found[:most], key=lambda one: one.path)), is_cut=len(found) > most
        )

    def texts(self, path: str = "", *, limit: int) -> Iterator[tuple[WorkFile, bytes]]:
        """Yield the files below a folder of at most `limit` bytes, each with its content."""
        for one, folder in self._walk(path):
            if one.size > limit:
                continue
            try:
                descriptor = os.open(posixpath.basename(one.path), _READ, dir_fd=folder)
            except OSError:
                # It was removed meanwhile, or may not be read.
                continue
            try:
                yield one, _content(descriptor, limit)
            finally:
                os.close(descriptor)

    def _walk(self, path: str) -> Iterator[tuple[WorkFile, int]]:
        """Yield regular files with the descriptor of their folder; bounded in number and depth."""
        inner = self._inner(path, is_folder=True)
        seen = 0
        with self._folder(inner, path) as top:
            for here, folders, names, folder in os.fwalk(".", dir_fd=top, follow_symlinks=False):
                below = posixpath.normpath(posixpath.join(inner, here))
                folders[:] = sorted(folders) if below.count("/") < _MOST_DEPTH else []
                for name in sorted(names):
                    seen += 1
                    status = _status(folder, name)
                    if status is not None and stat.S_ISREG(status.st_mode):
                        yield (
                            _found(posixpath.normpath(posixpath.join(below, name)), status),
                            folder,
                        )
                if seen > _MOST_WALKED:
                    return

    @contextmanager
    def _parent_of(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        inner = self._inner(path)
        parent, _, name = inner.rpartition("/")
        with self._folder(parent, path, make=make) as folder:
            yield folder, name

    @contextmanager
    def _folder(self, inner: str, path: str, *, make: bool = False) -> Iterator[int]:
        """Open a folder, one part of its path after the other."""
        descriptor = os.open(self._root, _FOLDER)
        try:
            for part in filter(None, inner.split("/")):
                if part == ".":
                    continue
                if make:
                    self._make(part, descriptor)
                following = _open_part(part, descriptor, path)
                os.close(descriptor)
                descriptor = following
            yield descriptor
        finally:
            os.close(descriptor)

    def _make(self, part: str, folder: int) -> None:
        try:
            os.mkdir(part, 0o755, dir_fd=folder)
        except FileExistsError:
            return
        if self._owner_id is not None:
            os.chown(part, self._owner_id, self._owner_id, dir_fd=folder, follow_symlinks=False)

    def _give_away(self, descriptor: int, mode: int) -> None:
        if self._owner_id is not None:
            os.fchown(descriptor, self._owner_id, self._owner_id)
        os.fchmod(descriptor, mode)

    def _inner(self, path: str, *, is_folder: bool = False) -> str:
        """Return a path below the root, as somebody in the working folder writes it."""
        if "\0" in path or len(path) > _MOST_PATH:
            raise BadRequest(f"the path is not usable: at most {_MOST_PATH} characters, no NUL.")
        inner = posixpath.normpath(path or ".")
        if inner == self._place or inner.startswith(self._place + "/"):
            inner = inner[len(self._place) + 1 :] or "."
        if inner.startswith(("/", "..")) and inner.split("/")[0] in ("", ".."):
            raise BadRequest(
                f"{path} is outside of the working folder: name a file in it, such as notes.txt."
            )
        if inner == "." and not is_folder:
            raise BadRequest("the path names the working folder itself: name a file in it.")
        return inner


def _open_part(part: str, folder: int, path: str) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        raise NotFound(_none(path)) from None
    except OSError:
        raise BadRequest(
            f"{path}: {part} is not a folder, or a link, and links are not followed."
        ) from None


@contextmanager
def _opened(folder: int, name: str, path: str) -> Iterator[int]:
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        raise NotFound(_none(path)) from None
    except OSError:
        raise BadRequest(f"{path} is a link or cannot be read; links are not followed.") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadRequest(f"{path} is not a file: list the folder to see what is there.")
        yield descriptor
    finally:
        os.close(descriptor)


def _content(descriptor: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    left = limit
    while left > 0 and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _status(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _found(path: str, status: os.stat_result) -> WorkFile:
    return WorkFile(path=path, size=status.st_size, changed_at=status.st_mtime)


def _none(path: str) -> str:
    return f"There is no file {path[:200]} in the working folder."
