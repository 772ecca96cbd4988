"""Which files may be sent: those inside given folders, whatever path names them; and where a file is
that a message names.

Messages name a file by its path inside the media folder, so that a home can be moved, or restored
elsewhere. Older messages have the whole path, of the home as it was then.

A path is resolved first, links included, and then opened piece by piece without following any link,
so that nothing that is put in its way meanwhile leads elsewhere. Hidden files and files in Hermes'
own home are never sent.
"""

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from hermes.errors import Forbidden, NotFound, TooLarge
from hermes.message.parts import ImagePart

_NEVER: Final = tuple(map(Path, ("/proc", "/sys", "/dev")))
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
# The folder of a person and that of a message, or the folder of the arrived.
_DEPTHS: Final = (2, 3)
_IN_THE_WAY: Final = frozenset({errno.ELOOP, errno.ENOTDIR})
_REFUSED: Final = "it is not in a folder whose files may be sent"


def file_at(folder: Path, path: str) -> Path:
    """Return the file that a message names, in the media folder of this home or elsewhere."""
    named = Path(path)
    if not named.is_absolute():
        # No message of ours names a file outside: of one that does, nothing is found.
        return folder / (named.name if ".." in named.parts else named)
    moved = None if named.is_relative_to(folder) else _moved(folder, named)
    if moved is None or (not moved.exists() and named.exists()):
        return named
    return moved


def with_file(folder: Path, picture: ImagePart) -> ImagePart:
    """Return a picture with the whole path of its file, as programs open it."""
    media = picture.media
    if media.path is None:
        return picture
    found = msgspec.structs.replace(media, path=str(file_at(folder, media.path)))
    return msgspec.structs.replace(picture, media=found)


def _moved(folder: Path, named: Path) -> Path | None:
    """Return where a file of another media folder is here, if it is of one by its path."""
    pieces = named.parts
    for depth in _DEPTHS:
        if pieces[-depth - 1 : -depth] == (folder.name,) and ".." not in pieces[-depth:]:
            return folder.joinpath(*pieces[-depth:])
    return None


class OpenFolders:
    """The folders whose files may be read; of the home, only the media cache may be one.

    Relative paths are those of files `inside` the whole cache, or in the folders.
    """

    def __init__(self, folders: Iterable[Path], *, home: Path, cache: Path, inside: Path) -> None:
        self._folders = tuple(folders)
        self._home = home
        self._cache = cache
        self._inside = inside

    def read(self, place: str, *, limit: int) -> bytes:
        """Return the bytes of a file; raises `Forbidden`, `NotFound` or `TooLarge`.

        Raises `OSError` if the disk cannot be read now.
        """
        root, inside = self._split(self._resolved(place))
        return _read(root, inside, limit=limit)

    def _resolved(self, place: str) -> Path:
        """Return the real path of a place; a relative one is searched for in cache and folders."""
        if not place or "\x00" in place:
            raise Forbidden(_REFUSED)
        path = Path(place)
        folders = (self._inside, *self._folders)
        tried = (path,) if path.is_absolute() else tuple(one / path for one in folders)
        for one in tried:
            try:
                return one.resolve(strict=True)
            except (OSError, RuntimeError):
                continue
        # Whether a file exists is not revealed if no file may be sent from there.
        if not any(_is_in(self._lexical(one), folder) for one in tried for folder in self._roots()):
            raise Forbidden(_REFUSED)
        raise NotFound("there is no such file")

    def _lexical(self, path: Path) -> Path:
        return Path(os.path.normpath(path))

    def _roots(self) -> tuple[Path, ...]:
        """Return the folders by their real paths; the cache comes first."""
        named = (self._cache, *self._folders)
        return tuple(one.resolve() for one in named)

    def _split(self, path: Path) -> tuple[Path, tuple[str, ...]]:
        """Return the folder that contains a real path, and the path from there."""
        for root in self._roots():
            if not _is_in(path, root) or path == root:
                continue
            inside = path.relative_to(root).parts
            if any(piece.startswith(".") for piece in inside):
                break
            if self._is_own(path) or any(_is_in(path, never) for never in _NEVER):
                break
            return root, inside
        raise Forbidden(_REFUSED)

    def _is_own(self, path: Path) -> bool:
        """Return whether a path is in the home and not in its media cache."""
        return _is_in(path, self._home.resolve()) and not _is_in(path, self._cache.resolve())


def _is_in(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder)


def _read(root: Path, inside: tuple[str, ...], *, limit: int) -> bytes:
    folder = _opened(str(root), os.O_DIRECTORY, None)
    try:
        for piece in inside[:-1]:
            deeper = _opened(piece, os.O_DIRECTORY, folder)
            os.close(folder)
            folder = deeper
        file = _opened(inside[-1], 0, folder)
    finally:
        os.close(folder)
    with os.fdopen(file, "rb") as opened:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise Forbidden("it is not a file")
        data = b"" if found.st_size > limit else opened.read(limit + 1)
    if found.st_size > limit or len(data) > limit:
        raise TooLarge(f"it has {found.st_size} bytes, and at most {limit} can be sent")
    return data


def _opened(name: str, flags: int, folder: int | None) -> int:
    try:
        return os.open(name, _FLAGS | flags, dir_fd=folder)
    except FileNotFoundError as error:
        raise NotFound("there is no such file") from error
    except OSError as error:
        # Something that is not a folder, or a link, was put in the way; other errors are passed on.
        if error.errno in _IN_THE_WAY:
            raise Forbidden(f"it cannot be read ({error.strerror})") from error
        raise
