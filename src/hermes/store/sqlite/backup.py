"""Dumps and loads a SQLite store for a backup; the gateway may run meanwhile."""

from collections.abc import Callable
from pathlib import Path

import apsw

from hermes.errors import NotFound, StoreDamaged, StoreError
from hermes.ports.backup import StoreDump, TellBytes
from hermes.store.sql.key_prints import key_print
from hermes.store.sql.seal import Sealer
from hermes.store.sqlite.connection import (
    DAMAGE_ADVICE,
    Database,
    newest_version,
    open_reader,
    translate,
)
from hermes.store.sqlite.copies import copy_database
from hermes.store.sqlite.inspection import inspect

_HOME_ID = b"the id of a home"
_NAME = "hermes.db"


class SqliteBackup:
    """Implements `ports.backup.StoreBackup`; `read_key_file` reads the key file each time."""

    engine = "sqlite"

    def __init__(self, path: Path, read_key_file: Callable[[], bytes]) -> None:
        self._path = path
        self._read_key_file = read_key_file

    @property
    def newest_schema(self) -> int:
        """The schema that this Hermes reads and writes."""
        return newest_version()

    def size(self) -> int:
        """Return the size of the database and of its WAL."""
        files = (self._path, Path(f"{self._path}-wal"))
        return sum(one.stat().st_size for one in files if one.exists())

    def dump(self, folder: Path, *, tell: TellBytes) -> StoreDump:
        """Copy the database as it is now, by SQLite's online backup in one read transaction."""
        if not self._path.exists():
            raise NotFound(f"There is no database {self._path}, so there is nothing to back up.")
        db = open_reader(self._path, vfs=None)
        try:
            db.execute("BEGIN")
            version = int(str(db.pragma("user_version")))
            # Read inside the transaction: it fixes the view.
            key_file = self._read_key_file()
            sealer = Sealer(key_file)
            sealer.read_digest_key(db)
            page = int(str(db.pragma("page_size")))
            copy = folder / _NAME
            copy_database(db, copy, tell=lambda done, total: tell(done * page, total * page))
        except apsw.Error as error:
            raise translate(error, "the copy of the database") from error
        finally:
            db.close()
        _check(copy)
        if key_print(self._read_key_file()) != key_print(key_file):
            raise StoreError("the store's key was rotated during the backup; make it again")
        home_id = sealer.digest(_HOME_ID).hex()[:16]
        return StoreDump(files=(_NAME,), schema_version=version, home_id=home_id)

    def load(self, folder: Path, *, key_file: bytes | None) -> None:
        """Check the copy, and put it in the place of the database."""
        copy = folder / _NAME
        _check(copy)
        if key_file is not None:
            found = inspect(copy, key_file, alive=lambda: None)
            if found.key_problem is not None:
                raise StoreError(f"the key file does not open the database: {found.key_problem}")
        copy.rename(self._path)


def _check(copy: Path) -> None:
    """Raise `StoreDamaged` if the copy is damaged: it must not replace one that is not."""
    try:
        db = Database(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            # Without a WAL the check leaves no file beside the copy.
            db.pragma("locking_mode", "exclusive")
            found = db.one("PRAGMA quick_check(1)")
        finally:
            db.close()
    except apsw.Error as error:
        raise translate(error, "the check of the copy") from error
    if found != "ok":
        raise StoreDamaged(f"the database is damaged ({found}); {DAMAGE_ADVICE}")
