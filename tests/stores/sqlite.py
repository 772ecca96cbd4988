"""SQLite for the tests: the only module of theirs that makes a `SqliteStore`.

A new database comes without the wait: the migrations run once in a process, and each test gets a
copy. That they run on a file of its own, step by step, is shown by `test_schema` and by every real
gateway.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from hermes.ports.clock import Clock
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.search import Search
from hermes.ports.store import Store
from hermes.ports.wallet import Audit
from hermes.store.search.notes import Notes
from hermes.store.search.search import SqliteSearch
from hermes.store.sql.graph_reader import SqlGraphReader
from hermes.store.sql.places import Place
from hermes.store.sql.seal import Sealer, make_store_keys
from hermes.store.sql.transcripts import no_listener
from hermes.store.sql.wallet import audit_books
from hermes.store.sqlite import store as sqlite_store
from hermes.store.sqlite.adoption import steps_beside
from hermes.store.sqlite.connection import Database, migrate
from hermes.store.sqlite.store import SqliteStore, StoreOptions, free_bytes
from hermes.store.sqlite.writer import Writer
from tests.stores.engine import Patch, StoreSetup

DATABASE = "hermes.db"
_WALLETS = "SELECT count(*) FROM sqlite_master WHERE name IN ('wallets', 'ledger', 'holds')"


@cache
def _blank() -> bytes:
    db = Database(":memory:")
    migrate(db, steps_beside(Sealer(make_store_keys())))
    # Every database has a key of its own, which the one who opens it first makes.
    db.execute("DELETE FROM meta WHERE key = 'digest_key'")
    assert db.changes() == 1
    content = db.serialize("main")
    db.close()
    return content


class _UnsealedTables:
    """Fits `engine.OpenedTables`."""

    def __init__(self, db: Database, sealer: Sealer) -> None:
        self.tables = db
        self._sealer = sealer
        sealer.read_digest_key(db)
        self.graphs = SqlGraphReader(db, sealer=sealer)

    def problems(self) -> list[str]:
        """Return what SQLite's own check finds wrong."""
        found = [str(row[0]) for row in self.tables.rows("PRAGMA integrity_check")]
        return [] if found == ["ok"] else found

    def try_keys(self) -> int:
        """Open every data key; return how many there are."""
        return self._sealer.try_all(self.tables)

    def body(self, body_id: int) -> bytes | None:
        """Return the content of a body, or None if it is gone."""
        row = self.tables.row("SELECT person_id FROM blobs WHERE id = ?1", (body_id,))
        return None if row is None else self._sealer.get_at_once(self.tables, body_id, owner=row[0])

    def unseal(self, person_id: str, sealed: bytes, *, place: Place) -> bytes | None:
        """Return the content of a sealed column, or None if the person was erased."""
        return self._sealer.open_at_once(self.tables, person_id, sealed, place=place)


class SqliteEngine:
    """Fits `engine.Engine`: a store is the file `hermes.db` of its folder."""

    async def open(self, folder: Path, setup: StoreSetup) -> Store:
        """Open the file, which is made first if there is none."""
        path = folder / DATABASE
        if not path.exists():
            path.touch(mode=0o600)
            path.write_bytes(_blank())
        options = setup.options
        return SqliteStore(
            path,
            key_file=setup.key_file,
            clock=setup.clock,
            make_id=setup.make_id,
            options=StoreOptions(
                synchronous=options.synchronous,
                group_commit_max=options.group_commit_max,
                disk_reserve_mb=options.disk_reserve_mb,
                max_pages=options.max_pages,
                alone=options.alone,
                lease_s=options.lease_s,
                accepts_lone=options.accepts_lone,
                copies=options.copies,
            ),
            measure=setup.measure or free_bytes,
            on_commit=setup.on_commit or no_listener,
        )

    def open_search(self, folder: Path, *, key_file: bytes, notes: Notes, clock: Clock) -> Search:
        """Open the index, which reads the file."""
        return SqliteSearch(
            folder / "search.db",
            database=folder / DATABASE,
            key_file=key_file,
            notes=notes,
            clock=clock,
        )

    @contextmanager
    def tables(self, folder: Path, *, read_only: bool) -> Iterator[Database]:
        """Connect to the file once more."""
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
        db = Database(str(folder / DATABASE), flags=flags)
        try:
            db.set_busy_timeout(5_000)
            yield db
        finally:
            db.close()

    @contextmanager
    def opened_tables(self, folder: Path, *, key_file: bytes) -> Iterator[_UnsealedTables]:
        """Connect to the file once more, with its key."""
        with self.tables(folder, read_only=False) as db:
            yield _UnsealedTables(db, Sealer(key_file))

    def raw_bytes(self, folder: Path) -> bytes:
        """Return the bytes of the file and of those beside it."""
        return b"".join(file.read_bytes() for file in sorted(folder.glob(f"{DATABASE}*")))

    def copy(self, folder: Path, to: Path) -> None:
        """Copy the file."""
        shutil.copyfile(folder / DATABASE, to / DATABASE)

    def drop(self, folder: Path) -> None:
        """Remove the file and those beside it."""
        for file in folder.glob(f"{DATABASE}*"):
            file.unlink()

    def audit(self, folder: Path, *, limit: int) -> Audit | None:
        """Look into the file without ending its log."""
        path = folder / DATABASE
        if not path.exists() or not path.stat().st_size:
            return None
        # A rollback journal is there only until the new file is in WAL mode, and only a writer can
        # roll it back.
        if path.with_name(f"{path.name}-journal").exists():
            return None
        # Read only: closing a file that may be written would end its log as no dead process does.
        with self.tables(folder, read_only=True) as db:
            return audit_books(db, limit=limit) if db.one(_WALLETS) == 3 else None

    async def deliveries_of(self, store: Store, message_id: str) -> tuple[DeliveryRecord, ...]:
        """Ask the outbox beside its port."""
        assert isinstance(store, SqliteStore)
        return await store.outbox.of_message(message_id)

    def full_disk(self) -> Exception:
        """Return SQLITE_FULL."""
        return apsw.FullError("database or disk is full")

    def broken_disk(self) -> Exception:
        """Return SQLITE_IOERR."""
        return apsw.IOError("disk I/O error")

    def run_units_twice(self, patch: Patch) -> None:
        """Undo every batch of the writer after its first run."""
        straight = Writer._run_straight

        # Any: jobs of different result types.
        def undone(writer: Writer, batch: list[Any]) -> bool:
            if straight(writer, batch):
                writer._start_again()
            return False

        patch(Writer, "_run_straight", undone)

    def check_space_every(self, patch: Patch, seconds: float) -> None:
        """Change the pause between two looks at the disk."""
        patch(sqlite_store, "_SPACE_CHECK_S", seconds)

    def as_node(self, store: Store, node: str) -> None:
        """Give the store's engine the id."""
        assert isinstance(store, SqliteStore)
        store._engine.node = node
