"""Opens the database file: pragmas, migrations, and the translation of SQLite's errors."""

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import apsw

from hermes.errors import HermesError, StorageFull, StoreError, StoreRejected

_MIGRATIONS = "hermes.store.sqlite.migrations"
Synchronous = Literal["FULL", "NORMAL"]

# Evicted pages are still in the system's file cache. The writer needs pages all over the indexes of
# names, again and again.
_WRITER_CACHE_KIB = 8_000
_READER_CACHE_KIB = 2_000
_OWNER_ONLY = 0o600

# Errors that may pass by themselves; any other is the unit's own fault.
_PASSING = (
    apsw.BusyError,
    apsw.LockedError,
    apsw.IOError,
    apsw.CantOpenError,
    apsw.InterruptError,
    apsw.NoMemError,
    apsw.ProtocolError,
)


class Database(apsw.Connection):
    """A connection whose rows are typed by the query that made them."""

    # Any: SQLite's values; the named query decides the columns and their types.
    def rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return every row of a query."""
        try:
            return self.execute(sql, bindings).fetchall()
        except apsw.Error as error:
            raise translate(error, "a query") from error
        except UnicodeDecodeError as error:
            raise _no_text(error) from error

    def row(self, sql: str, bindings: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, if there is one."""
        try:
            return self.execute(sql, bindings).fetchone()
        except apsw.Error as error:
            raise translate(error, "a query") from error
        except UnicodeDecodeError as error:
            raise _no_text(error) from error

    def one(self, sql: str, bindings: tuple[Any, ...] = ()) -> Any:
        """Return the single value of a query that always has one row."""
        return self.rows(sql, bindings)[0][0]


def open_database(
    path: Path | str,
    *,
    synchronous: Synchronous,
    vfs: str | None,
    now: Callable[[], float] | None = None,
) -> Database:
    """Open (or create) the database for writing, in WAL mode; only its owner can read it.

    `now` is the store's clock, which statements know as `hermes_now()`.
    """
    if vfs is None:
        _keep_private(Path(path))
    try:
        db = Database(str(path), vfs=vfs, statementcachesize=512)
        db.set_busy_timeout(5_000)
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", synchronous)
        db.pragma("cache_size", -_WRITER_CACHE_KIB)
        db.pragma("temp_store", "memory")
        db.pragma("wal_autocheckpoint", 4_000)
        _set_clock(db, now)
    except apsw.Error as error:
        raise translate(error, f"open {path}") from error
    return db


def _set_clock(db: Database, now: Callable[[], float] | None) -> None:
    if now is not None:
        db.create_scalar_function("hermes_now", lambda *_: now(), 0)


def _keep_private(path: Path) -> None:
    """Create the file with the mode that SQLite also gives to the files beside it."""
    try:
        if not path.exists():
            path.touch(mode=_OWNER_ONLY, exist_ok=True)
        elif path.stat().st_mode & ~_OWNER_ONLY & 0o777:
            path.chmod(_OWNER_ONLY)
    except OSError as error:
        raise StoreError(f"open {path}: {error.strerror}") from error


def open_reader(
    path: Path | str, *, vfs: str | None, now: Callable[[], float] | None = None
) -> Database:
    """Open the database a second time, for reading beside the writer."""
    try:
        db = Database(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs, statementcachesize=512)
        db.set_busy_timeout(5_000)
        db.pragma("query_only", True)
        db.pragma("cache_size", -_READER_CACHE_KIB)
        _set_clock(db, now)
    except apsw.Error as error:
        raise translate(error, f"open {path}") from error
    return db


def sync_to_disk(path: Path | str, *, vfs: str | None) -> None:
    """Make committed data survive a power cut, even if commits do not wait."""
    db = open_database(path, synchronous="FULL", vfs=vfs)
    try:
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
    except apsw.Error as error:
        raise translate(error, "a sync") from error
    finally:
        db.close()


def newest_version() -> int:
    """Return the schema version that this Hermes reads and writes."""
    return len(_migration_names())


def _migration_names() -> list[str]:
    files = resources.files(_MIGRATIONS).iterdir()
    return sorted(item.name for item in files if item.name.endswith(".sql"))


def migrate(db: Database, after: Mapping[str, Callable[[Database], None]]) -> None:
    """Update the schema, one transaction per migration.

    `after` are the steps, by the migration's name, that SQL alone cannot do.
    """
    migrations, names = resources.files(_MIGRATIONS), _migration_names()
    version = int(str(db.pragma("user_version")))
    if version > len(names):
        raise StoreError(
            f"the database has schema version {version}, this Hermes knows {len(names)}; "
            "run the newer Hermes that wrote it, or restore a backup"
        )
    if version < len(names):
        # The pages needed to drop a large table must not have to fit into memory.
        db.pragma("temp_store", "file")
    for number, name in enumerate(names, start=1):
        if number <= version:
            continue
        text = migrations.joinpath(name).read_text(encoding="utf-8")
        with db:
            db.execute(text)
            if name in after:
                after[name](db)
            db.execute(f"PRAGMA user_version = {number}")
    db.pragma("temp_store", "memory")


def translate(error: apsw.Error, doing: str) -> HermesError:
    """Return the Hermes error for an SQLite error while `doing` something."""
    if isinstance(error, apsw.FullError):
        return StorageFull(f"the disk is full: {doing} was not written; free some space", 30.0)
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreRejected(
            f"{doing}: the database file is damaged ({error}); keep a copy of it as it is, and put "
            "a backup in its place"
        )
    if isinstance(error, _PASSING):
        return StoreError(f"{doing}: {error}")
    return StoreRejected(f"{doing}: {type(error).__name__}: {error}")


def _no_text(error: UnicodeDecodeError) -> StoreRejected:
    return StoreRejected(
        f"a text in the database was changed on disk: it is not UTF-8 ({error.reason} at byte "
        f"{error.start}). Keep a copy of the database as it is, and put a backup in its place; "
        "`hermes graph verify` says which conversations are damaged."
    )
