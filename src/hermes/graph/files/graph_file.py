"""Opens a file of message graphs: SQLite, with a magic number and a version of the format.

SQLite's journal makes each transaction whole or absent, also after kill -9 or a power cut. What
SQLite reports is translated here into errors that name the file and what to do.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib import resources
from pathlib import Path

from hermes.errors import BadRequest, HermesError, NotFound, StorageFull, StoreDamaged, StoreError
from hermes.graph.hasher import Hasher
from hermes.named_sql import load_queries

SQL = load_queries("queries", package="hermes.graph.files")
# "HGRF" as a number.
MAGIC = 0x48475246
FORMAT = 1
PATIENCE_S = 5.0
_NAMES = b"hermes graph file"


class GraphFile:
    """One file; each use opens it anew, so that nothing is held between two uses."""

    def __init__(self, path: Path, hasher: Hasher) -> None:
        self.path = path
        self._names = hasher.blob(_NAMES)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Open the file for reading; None if there is none, or nothing in it yet."""
        if not self.path.exists():
            yield None
            return
        with self._translated(), closing(self._connect()) as db:
            # Checked in the transaction that reads: nobody changes the tables in between.
            db.execute("BEGIN")
            is_ready = self._check(db)
            yield db if is_ready else None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, creating it if there is none."""
        self._create()
        with self._translated(), closing(self._connect()) as db:
            # Until the transaction is on the disk, the folder included.
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("BEGIN IMMEDIATE")
            try:
                if not self._check(db):
                    self._prepare(db)
                yield db
                db.execute("COMMIT")
            except BaseException:  # boundary: the transaction ends, the error goes on
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def shrink(self) -> None:
        """Give back the space of what was removed."""
        with self._translated(), closing(self._connect()) as db:
            db.execute("VACUUM")

    def _create(self) -> None:
        if not self.path.parent.is_dir():
            raise NotFound(
                f"There is no folder {str(self.path.parent)!r}, so {self.path.name!r} cannot be "
                "saved there. Create the folder, or choose another."
            )
        # What people said is private, so nobody else may read a new file.
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return
        except OSError as problem:
            raise self._unusable(problem.strerror or str(problem)) from problem

    def _connect(self) -> sqlite3.Connection:
        address = f"{self.path.absolute().as_uri()}?mode=rw"
        db = sqlite3.connect(address, uri=True, timeout=PATIENCE_S, isolation_level=None)
        # The file may come from anybody: what is written in it calls no function with effects, and
        # damaged pages are noticed before they are used.
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        if sys.version_info >= (3, 12):
            db.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        return db

    def _check(self, db: sqlite3.Connection) -> bool:
        """Return whether the file has its tables; raises BadRequest if it is another program's."""
        (magic,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute(SQL["tables"]).fetchone()
        if (magic, version, tables) == (0, 0, 0):
            return False
        if magic != MAGIC:
            raise BadRequest(
                f"{self.path} is a database of another program, not a file of message graphs. "
                "Nothing was changed. Choose another file."
            )
        if version != FORMAT:
            raise BadRequest(
                f"{self.path} has format {version} of message graph files, this Hermes reads "
                f"{FORMAT}. Use the newer Hermes that wrote it."
            )
        self._check_tables(db)
        row = db.execute(SQL["about"], ("names",)).fetchone()
        if row is None or row[0] != self._names:
            raise BadRequest(
                f"{self.path} was written with another hasher: its names cannot be computed with "
                "this one. Pass the hasher that it was saved with."
            )
        return True

    def _check_tables(self, db: sqlite3.Connection) -> None:
        """Refuse all that could run when the file is read or written: views, triggers, the like."""
        made = _made()
        found = frozenset(db.execute(SQL["schema"], (len(made) + 1,)))
        if found != made:
            kind, name, _ = min(found - made or made - found, key=str)
            raise BadRequest(
                f"{self.path} has not exactly the tables of a file of message graphs; they differ in "
                f"the {str(kind)[:20]} {str(name)[:40]!r}. Nothing was changed. Ask for a copy as "
                "Hermes saved it, or remove with SQLite what was added."
            )

    def _prepare(self, db: sqlite3.Connection) -> None:
        _make_tables(db)
        db.execute(SQL["set_about"], ("names", self._names))
        db.execute(f"PRAGMA application_id = {MAGIC}")
        db.execute(f"PRAGMA user_version = {FORMAT}")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise self._error(problem) from problem

    def _error(self, problem: sqlite3.Error) -> HermesError:
        # The primary code is the last byte of an extended one.
        code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            return BadRequest(
                f"{self.path} is not a file of message graphs. Nothing was changed. To import "
                "JSON lines or another export, use hermes.graph.imports."
            )
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR}:
            return StoreDamaged(f"{self.path} is damaged ({problem}). Restore a copy of it.")
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return StoreError(
                f"{self.path} was locked by another program for more than {PATIENCE_S:.0f} s. "
                "Nothing was written; save again."
            )
        if code == sqlite3.SQLITE_FULL:
            return StorageFull(f"The disk of {self.path} is full. Nothing was written.")
        return self._unusable(str(problem))

    def _unusable(self, why: str) -> StoreError:
        return StoreError(
            f"{self.path} cannot be used ({why}). Nothing was written. Check that it is a file "
            "that this user may read and write."
        )


def _make_tables(db: sqlite3.Connection) -> None:
    schema = resources.files("hermes.graph.files").joinpath("schema.sql")
    for statement in schema.read_text(encoding="utf-8").split(";"):
        db.execute(statement)


@cache
def _made() -> frozenset[tuple[str, str, str | None]]:
    """Return the tables of this format, and their indexes, as SQLite describes them."""
    with closing(sqlite3.connect(":memory:")) as db:
        _make_tables(db)
        return frozenset(db.execute(SQL["schema"], (-1,)))
