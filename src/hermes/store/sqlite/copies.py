"""Copies of a whole database: SQLite's online backup, and the copies that migrations keep.

A copy is whole by itself, without a WAL. Its texts are encrypted with the same keys.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

import apsw
import structlog

from hermes.durable_file import sync_folder
from hermes.errors import StoreError
from hermes.store.sqlite.connection import Database, mark_whole, newest_version, translate

_log = structlog.get_logger(__name__)
_PAGES = 1_000
_KEPT = 2
_MIB = 1024 * 1024
_FOLDER = "copies"

# Told how many pages are copied, of how many.
Tell = Callable[[int, int], None]


def _tell_nobody(_done: int, _total: int) -> None:
    """Do nothing."""


def copy_database(db: Database, to: Path, *, tell: Tell = _tell_nobody) -> None:
    """Write what a connection sees to a new file, which is on disk when this returns.

    Raises `apsw.Error` or `OSError`; then the file does not exist. In a transaction the copy is one
    consistent view; otherwise it starts again whenever another process writes.
    """
    to.unlink(missing_ok=True)
    to.touch(mode=0o600, exist_ok=False)
    try:
        copy = Database(str(to))
        try:
            # Until it is whole nobody uses the file: it needs no journal, and one sync at the end.
            copy.pragma("journal_mode", "off")
            copy.pragma("synchronous", "off")
            with copy.backup("main", db, "main") as backup:
                while not backup.done:
                    backup.step(_PAGES)
                    tell(backup.page_count - backup.remaining, backup.page_count)
            mark_whole(copy)
        finally:
            copy.close()
        _sync(to)
    # Boundary of a copy: whatever ended it, also Ctrl-C, half of one is of no use.
    except BaseException:
        to.unlink(missing_ok=True)
        raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_before_migration(db: Database, path: Path, *, free: int, reserve: int) -> None:
    """Keep a copy of a database that is about to be migrated, and only the newest copies.

    Raises `StoreError` if the disk has no room for it.
    """
    version = int(str(db.pragma("user_version")))
    if not 0 < version < newest_version():
        return
    size = int(str(db.pragma("page_count"))) * int(str(db.pragma("page_size")))
    if free < size + reserve:
        raise StoreError(_no_room(path, version=version, size=size, free=free, reserve=reserve))
    folder = path.parent / _FOLDER
    target = folder / f"{path.name}.v{version}"
    half = target.with_name(f"{target.name}.part")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        copy_database(db, half)
        half.rename(target)
        sync_folder(folder)
        sync_folder(path.parent)
    except apsw.Error as error:
        raise translate(error, f"the copy {target} before an upgrade") from error
    except OSError as error:
        raise StoreError(
            f"{target}, a copy of the database before its upgrade, cannot be written "
            f"({error.strerror}); correct the folder, or start once with `hermes up --no-copy`"
        ) from error
    _log.info("database_copied", file=str(target), version=version)
    for old in kept_copies(path)[_KEPT:]:
        old.unlink(missing_ok=True)


def kept_copies(path: Path) -> list[Path]:
    """Return the copies that migrations of a database have kept, newest schema first."""
    found = [
        (int(match[1]), one)
        for one in (path.parent / _FOLDER).glob(f"{path.name}.v*")
        if (match := re.search(r"\.v(\d+)$", one.name))
    ]
    return [one for _, one in sorted(found, reverse=True)]


def _no_room(path: Path, *, version: int, size: int, free: int, reserve: int) -> str:
    needed = (size + reserve) // _MIB + 1
    return (
        f"{path} has to be upgraded from schema {version} to {newest_version()}, and there is no room "
        f"for a copy of it first: {needed} MiB are needed, {free // _MIB} MiB are free. Free some "
        "space; or make a backup on another disk (`hermes backup FILE`), and start once with "
        "`hermes up --no-copy`"
    )
