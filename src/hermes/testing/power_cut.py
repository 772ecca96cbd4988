"""A disk that forgets unsynced writes: an SQLite VFS for tests of a power cut, and a folder.

Writes stay in memory until SQLite syncs the file, as they stay in a real machine's cache. At a
chosen operation the power fails: of the unsynced writes nothing survives, or a random part of them,
torn at sectors, and the process ends at once. Shared memory and locks pass through.
"""

import os
import random
import shutil
import stat
import tempfile
import threading
from pathlib import Path
from typing import Any, Final, Self

import apsw
import msgspec

SECTOR: Final = 512
EXIT_POWER_CUT: Final = 77
_COVERED = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


class PowerCut(msgspec.Struct, frozen=True, kw_only=True):
    """When the power fails, counted in writes, truncations and syncs, and what it leaves behind.

    `keep_seed` None loses every unsynced write; a number keeps a random part of their sectors.
    `at` 0 never fails, and only counts.
    """

    at: int = 0
    keep_seed: int | None = None


class _Write(msgspec.Struct, frozen=True):
    """One change that has not reached the disk; `data` None is a truncation to `offset`."""

    offset: int
    data: bytes | None


class _Image:
    """One file as the process sees it, and the changes that are not on the disk yet."""

    def __init__(self, path: str) -> None:
        # Never closed: closing any descriptor of a file drops the process's locks on it.
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        size = os.fstat(self._descriptor).st_size
        self.content = bytearray(os.pread(self._descriptor, size, 0))
        self.pending: list[_Write] = []

    def write(self, offset: int, data: bytes) -> None:
        _put(self.content, offset, data)
        self.pending.append(_Write(offset, data))

    def truncate(self, size: int) -> None:
        del self.content[size:]
        self.pending.append(_Write(size, None))

    def sync(self) -> None:
        self.reach_disk(self.pending)
        self.pending = []

    def reach_disk(self, changes: list[_Write]) -> None:
        for change in changes:
            if change.data is None:
                os.ftruncate(self._descriptor, change.offset)
            else:
                os.pwrite(self._descriptor, change.data, change.offset)


class PowerCutDisk(apsw.VFS):
    """The VFS; keep a reference for as long as connections use it.

    With `default` every connection of the process that names no VFS uses it.
    """

    def __init__(
        self, cut: PowerCut, *, name: str = "power-cut", base: str = "unix", default: bool = False
    ) -> None:
        super().__init__(name, base, makedefault=default)
        self._base = base
        self._cut = cut
        self._images: dict[str, _Image] = {}
        self._lock = threading.RLock()
        self.operations = 0

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        if name is None or not flags[0] & _COVERED:
            return super().xOpen(name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return _File(self._base, name, flags, disk=self, path=path)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        super().xDelete(filename, syncdir)
        self._images.pop(filename, None)

    def image(self, path: str) -> _Image:
        """Return the file's image, which all its connections share."""
        with self._lock:
            if path not in self._images:
                self._images[path] = _Image(path)
            return self._images[path]

    def apply(self, image: _Image, change: _Write | None) -> None:
        """Count an operation and apply it: a change, or None for a sync; or fail at that point."""
        with self._lock:
            self.operations += 1
            if self.operations == self._cut.at:
                self._fail()
            if change is None:
                image.sync()
            elif change.data is None:
                image.truncate(change.offset)
            else:
                image.write(change.offset, change.data)

    def read(self, image: _Image, amount: int, *, offset: int) -> bytes:
        """Return what the process wrote, whether or not it is on the disk."""
        with self._lock:
            return bytes(image.content[offset : offset + amount])

    def _fail(self) -> None:
        if self._cut.keep_seed is not None:
            chance = random.Random(self._cut.keep_seed)
            for image in self._images.values():
                image.reach_disk(_torn(image.pending, chance))
        os._exit(EXIT_POWER_CUT)


class _File(apsw.VFSFile):
    """One open file; the base class handles everything but its content."""

    def __init__(
        self,
        base: str,
        name: str | apsw.URIFilename,
        flags: list[int],
        *,
        disk: PowerCutDisk,
        path: str,
    ) -> None:
        super().__init__(base, name, flags)
        self._disk = disk
        self._image = disk.image(path)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - SQLite's name
        return self._disk.read(self._image, amount, offset=offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.apply(self._image, _Write(offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.apply(self._image, _Write(newsize, None))

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.apply(self._image, None)

    def xFileSize(self) -> int:  # noqa: N802 - SQLite's name
        return len(self._image.content)


def _put(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _torn(changes: list[_Write], chance: random.Random) -> list[_Write]:
    """Return the part of the changes that reached the disk, sector by sector, in order."""
    odds = chance.random()
    sectors = (sector for change in changes for sector in _sectors(change))
    return [sector for sector in sectors if chance.random() < odds]


def _sectors(change: _Write) -> list[_Write]:
    data = change.data
    if data is None:
        return [change]
    return [
        _Write(change.offset + start, data[start : start + SECTOR])
        for start in range(0, len(data), SECTOR)
    ]


class PowerCutFolder:
    """A folder whose plain files survive a power cut only as far as they were synced.

    A context manager: from its start it watches every `os.fsync` of this process. A file keeps the
    content of its last sync, and a folder the names of its last sync; `cut` undoes everything else,
    which is the worst that a file system may do.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._fsync = os.fsync

    def __enter__(self) -> Self:
        for folder, _, files in os.walk(self._root):
            self._note_names(folder)
            for name in files:
                path = Path(folder, name)
                self._contents[path.stat().st_ino] = path.read_bytes()
        os.fsync = self._note  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync = self._fsync

    def cut(self) -> None:
        """Leave only what was synced."""
        self._restore(self._root)

    def _note(self, descriptor: Any) -> None:
        """Sync a file or a folder, and remember what the disk holds of it from now on."""
        self._fsync(descriptor)
        found = os.fstat(descriptor)
        path = f"/proc/self/fd/{descriptor}"
        if stat.S_ISDIR(found.st_mode):
            self._note_names(path)
        else:
            self._contents[found.st_ino] = Path(path).read_bytes()

    def _note_names(self, folder: str) -> None:
        with os.scandir(folder) as entries:
            self._names[Path(folder).stat().st_ino] = {one.name: one.inode() for one in entries}

    def _restore(self, folder: Path) -> None:
        synced = self._names.get(folder.stat().st_ino, {})
        standing = {path.stat().st_ino: path for path in folder.iterdir()}
        survivors = {name: standing.get(inode) for name, inode in synced.items()}
        aside = Path(tempfile.mkdtemp(dir=self._root.parent))
        for name, path in survivors.items():
            if path is not None and path.is_dir():
                self._restore(path)
                path.rename(aside / name)
            else:
                (aside / name).write_bytes(self._contents.get(synced[name], b""))
        for left in tuple(folder.iterdir()):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        for kept in tuple(aside.iterdir()):
            kept.rename(folder / kept.name)
        aside.rmdir()
