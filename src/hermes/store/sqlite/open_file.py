"""The open database file: whether its path still leads to it, and a copy if not.

A file that is removed while it is open exists until the process ends, and everything written
meanwhile is lost with it. So the store checks the path from time to time, and writes a copy before
it closes the file.
"""

import re
from pathlib import Path

import apsw
import structlog

from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.copies import copy_database

_log = structlog.get_logger(__name__)
_BESIDE = ("-wal", "-shm")


class OpenFile:
    """The file at `path` as it was when the store opened it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _identity(path)
        self._known_beside = {name: _identity(Path(f"{path}{name}")) for name in _BESIDE}

    def problem(self) -> str | None:
        """Return what happened to the file's path and what to do, or None if it is intact."""
        try:
            found = _identity(self._path)
        except OSError:
            # The folder cannot be read now, which says nothing about the file.
            return None
        if found == self._known:
            return None
        what = (
            f"{self._path} was removed or moved while the gateway runs"
            if found is None
            else f"{self._path} was replaced by another file while the gateway runs"
        )
        rescued = _unused(_rescued_path(self._path)).name
        return (
            f"{what}. If it was moved, move it back. Otherwise stop the gateway with `hermes stop` "
            f"(never kill it): it then writes what it holds to {rescued}. Rename {rescued} to "
            f"{self._path.name} and start the gateway again"
        )

    def rescue(self, db: Database) -> None:
        """Write the content of an open connection to a file beside the path; may take long."""
        target = _unused(_rescued_path(self._path))
        half = target.with_name(f"{target.name}.part")
        try:
            copy_database(db, half)
            half.rename(target)
            self._remove_beside()
        except (apsw.Error, OSError) as error:
            _log.error("database_not_rescued", file=str(target), problem=str(error))
            return
        _log.warning("database_rescued", file=str(target))

    def _remove_beside(self) -> None:
        """Remove the WAL of the lost file: SQLite would apply it to the next file."""
        for name, known in self._known_beside.items():
            path = Path(f"{self._path}{name}")
            if known is not None and _identity(path) == known:
                path.unlink()


def newest_rescued(path: Path) -> Path | None:
    """Return the last copy of a lost database beside its path, or None."""
    found = path.parent.glob(f"{_rescued_path(path).name}*")
    # Excluded: a partial copy, and the files that SQLite creates next to one.
    whole = [one for one in found if re.search(r"\.rescued(\.\d+)?$", one.name)]
    return max(whole, key=lambda one: one.stat().st_mtime, default=None)


def _rescued_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.rescued")


def _unused(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
