"""The file of the search index: encrypted, and deleted if it cannot be used.

It is never repaired, because the message graphs hold everything in it. A file that is not encrypted
is never written to and never kept.
"""

from importlib import resources
from pathlib import Path

import apsw
import structlog

from hermes.errors import StoreError
from hermes.store.search.text_folds import FOLDING
from hermes.store.sql.queries import load
from hermes.store.sqlite.connection import Database, translate

PACKAGE = "hermes.store.search"
SQL = load("index", package=PACKAGE)
_FORMAT = f"1 {FOLDING}"
_PLAIN = b"SQLite format 3\0"
_BESIDE = ("", "-wal", "-shm", "-journal")
_OWNER_ONLY = 0o600
_CACHE_KIB = 1_000
_log = structlog.get_logger(__name__)


class UnusableIndex(Exception):
    """The index cannot be used and must be rebuilt; never leaves this package."""


def open_index(path: Path, key: bytes) -> Database:
    """Open the index, or create a new one if it cannot be used."""
    if path.exists():
        try:
            return _open_known(path, key)
        except UnusableIndex as problem:
            _log.warning("search_index_made_again", problem=str(problem))
    remove_index(path)
    return _make(path, key)


def remove_index(path: Path) -> None:
    """Remove the index and the files beside it."""
    for ending in _BESIDE:
        Path(f"{path}{ending}").unlink(missing_ok=True)


def open_beside(path: Path, key: bytes) -> Database:
    """Open the index a second time, for reading."""
    db = _connect(path, key)
    db.pragma("query_only", True)
    return db


def index_bytes(path: Path) -> int:
    """Return the size of the index on disk."""
    files = [Path(f"{path}{ending}") for ending in _BESIDE]
    return sum(file.stat().st_size for file in files if file.exists())


def _open_known(path: Path, key: bytes) -> Database:
    check_header(path)
    try:
        db = _connect(path, key)
    except StoreError as error:
        raise UnusableIndex(f"it does not open with the key of this database ({error})") from error
    try:
        row = db.row(SQL["meta"], ("format",))
    except StoreError as error:
        db.close()
        raise UnusableIndex(f"it is not an index ({error})") from error
    if row is None or row[0] != _FORMAT:
        db.close()
        raise UnusableIndex(f"its format is {row and row[0]!r}, expected {_FORMAT!r}")
    return db


def _make(path: Path, key: bytes) -> Database:
    path.touch(mode=_OWNER_ONLY)
    db = _connect(path, key)
    schema = resources.files(PACKAGE).joinpath("schema.sql").read_text(encoding="utf-8")
    with db:
        db.execute(schema)
        db.execute(SQL["set_meta"], ("format", _FORMAT))
    db.pragma("wal_checkpoint(truncate)")
    try:
        check_header(path)
    except UnusableIndex as problem:
        db.close()
        remove_index(path)
        raise StoreError(
            f"the search index {path.name} was written unencrypted and was removed: this SQLite "
            "cannot encrypt. Install apsw-sqlite3mc and not apsw, or set search.enabled to false."
        ) from problem
    return db


def check_header(path: Path) -> None:
    """Raise `UnusableIndex` if the file is not encrypted."""
    with path.open("rb") as file:
        if file.read(len(_PLAIN)) == _PLAIN:
            raise UnusableIndex("it is not encrypted")


def _connect(path: Path, key: bytes) -> Database:
    try:
        db = Database(str(path), statementcachesize=64)
        try:
            db.set_busy_timeout(5_000)
            db.pragma("cipher", "chacha20")
            db.pragma("key", f"raw:{key.hex()}")
            db.pragma("journal_mode", "wal")
            # A crash may lose the newest: it is read again from where the file says it is.
            db.pragma("synchronous", "NORMAL")
            db.pragma("cache_size", -_CACHE_KIB)
            db.pragma("secure_delete", True)
            db.pragma("temp_store", "memory")
        except apsw.Error:
            db.close()
            raise
    except apsw.Error as error:
        raise translate(error, f"open {path.name}") from error
    return db
