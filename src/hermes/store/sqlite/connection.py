"""Opens the database file: pragmas, migrations, and the translation of SQLite's errors."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import apsw
import structlog

from hermes.errors import HermesError, StorageFull, StoreDamaged, StoreError, StoreRejected
from hermes.store.sqlite.file_access import access_problem

_log = structlog.get_logger(__name__)
_MIGRATIONS = "hermes.store.sqlite.migrations"
Synchronous = Literal["FULL", "NORMAL"]

# Evicted pages are still in the system's file cache. The writer needs pages all over the indexes of
# names, again and again.
_WRITER_CACHE_KIB = 8_000
_READER_CACHE_KIB = 2_000
_OWNER_ONLY = 0o600

DAMAGE_ADVICE = (
    "stop the gateway, move the home away as it is, and restore a backup with `hermes restore FILE`; "
    "`hermes graph verify` says which conversations are damaged"
)

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

    # Called with the error if SQLite finds that the file is damaged.
    on_damage: Callable[[StoreDamaged], None] | None = None

    def failure(self, error: apsw.Error, doing: str) -> HermesError:
        """Return the Hermes error for an SQLite error of this connection."""
        failed = translate(error, doing)
        if isinstance(failed, StoreDamaged) and self.on_damage is not None:
            self.on_damage(failed)
        return failed

    # Any: SQLite's values; the named query decides the columns and their types.
    def rows(self, sql: str, bindings: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return every row of a query."""
        try:
            return self.execute(sql, bindings).fetchall()
        except apsw.Error as error:
            raise self.failure(error, "a query") from error
        except UnicodeDecodeError as error:
            raise _no_text(error) from error

    def row(self, sql: str, bindings: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        """Return the first row of a query, if there is one."""
        try:
            return self.execute(sql, bindings).fetchone()
        except apsw.Error as error:
            raise self.failure(error, "a query") from error
        except UnicodeDecodeError as error:
            raise _no_text(error) from error

    def one(self, sql: str, bindings: tuple[Any, ...] = ()) -> Any:
        """Return the single value of a query that always has one row."""
        return self.rows(sql, bindings)[0][0]


class Reader(Database):
    """A connection that only reads, beside a writer or while there is none."""

    def close(self, force: bool = False) -> None:
        """Close it. The WAL stays unless the last writer has stopped cleanly, also since the opening."""
        with suppress(apsw.Error):
            if self.in_transaction:
                self.execute("ROLLBACK")
            self.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(is_in_use(self)))
        super().close(force)


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
        raise _not_opened(error, path) from error
    if db.readonly("main"):
        db.close()
        raise StoreError(access_problem(Path(path), "it opens only for reading"))
    return db


def _not_opened(error: apsw.Error, path: Path | str) -> HermesError:
    """Return why a database cannot be written; whose file it is and what to do, if that is it."""
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
        return StoreError(access_problem(Path(path), str(error)))
    return translate(error, f"open {path}")


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
        raise StoreError(access_problem(path, error.strerror or "it failed")) from error


def open_reader(
    path: Path | str, *, vfs: str | None, now: Callable[[], float] | None = None
) -> Reader:
    """Open the database a second time, for reading beside the writer or while there is none.

    Closing it leaves the WAL of a process that was killed as it is: only a writer removes it.
    """
    try:
        db = Reader(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs, statementcachesize=512)
        keep_wal(db)
        db.set_busy_timeout(5_000)
        db.pragma("query_only", True)
        db.pragma("cache_size", -_READER_CACHE_KIB)
        _set_clock(db, now)
    except apsw.Error as error:
        raise translate(error, f"open {path}") from error
    return db


# `PRAGMA application_id`: "HR" for a file that is whole by itself, "HU" and 16 bits of the schema
# cookie for one whose newest data may be in its WAL.
_WHOLE_ID = 0x4852_0000
_IN_USE_ID = 0x4855_0000


def is_in_use(db: Database) -> bool:
    """Return whether a writer has marked the database as in use and has not closed it since.

    A copy that SQLite made (its backup, VACUUM INTO) has another schema cookie: it is whole.
    """
    found = int(str(db.pragma("application_id")))
    return found == _IN_USE_ID | (int(str(db.pragma("schema_version"))) & 0xFFFF)


def keep_wal(db: Database) -> None:
    """Leave the WAL as it is if this connection is the last to be closed, in whatever way."""
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)


def mark_in_use(db: Database) -> None:
    """Note in the file itself that its newest data may be in the WAL, if the disk has room."""
    try:
        cookie = int(str(db.pragma("schema_version"))) & 0xFFFF
        db.pragma("application_id", _IN_USE_ID | cookie)
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except apsw.Error as error:
        # A missing mark loses nothing: only a copy without its WAL would not be recognised.
        _log.warning("database_not_marked", problem=str(error))


def mark_whole(db: Database) -> None:
    """Note in the file that nothing of it is in a WAL once this connection is closed."""
    db.pragma("application_id", _WHOLE_ID)


def close_whole(db: Database) -> None:
    """Close the writer; the last one moves the WAL into the file, which then is whole by itself."""
    try:
        mark_whole(db)
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
    except apsw.Error as error:
        # Without its mark the file needs the WAL, which stays: the next start would miss it.
        _log.warning("database_not_marked", problem=str(error))
    db.close()


def lacks_wal(path: Path, *, vfs: str | None = None) -> bool:
    """Return whether the file was copied or moved without the WAL that has its newest data."""
    beside = Path(f"{path}-wal")
    if not path.exists() or (beside.exists() and beside.stat().st_size):
        return False
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        # Immutable: the file alone is read, and nothing is made beside it.
        db = Database(f"file:{quote(str(path))}?immutable=1", flags=flags, vfs=vfs)
        try:
            return is_in_use(db)
        finally:
            db.close()
    except apsw.Error:
        # Whoever opens it for use says what is wrong with it.
        return False


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
            "run the newer Hermes that wrote it, or restore a backup of that time into an empty "
            "home (`hermes restore`)"
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
        return StoreDamaged(f"{doing}: the database file is damaged ({error}); {DAMAGE_ADVICE}")
    if isinstance(error, _PASSING):
        return StoreError(f"{doing}: {error}")
    return StoreRejected(f"{doing}: {type(error).__name__}: {error}")


def _no_text(error: UnicodeDecodeError) -> StoreDamaged:
    return StoreDamaged(
        f"a text in the database was changed on disk: it is not UTF-8 ({error.reason} at byte "
        f"{error.start}); {DAMAGE_ADVICE}"
    )
