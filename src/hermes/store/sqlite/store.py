"""The SQLite store: opens the files, watches their disk, and closes them."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from hermes import failpoints
from hermes.errors import StorageFull, StoreDamaged, StoreError
from hermes.message.ids import MakeId
from hermes.ports.clock import Clock
from hermes.ports.person_rows import HomeReader
from hermes.store.sql.engine import Engine
from hermes.store.sql.feed import SqlFeed
from hermes.store.sql.graph_reader import SqlGraphReader
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.store import SqlStore
from hermes.store.sql.transcripts import OnCommit, no_listener
from hermes.store.sql.tx import Result, Rows
from hermes.store.sqlite.adoption import load_digest_key, steps_beside
from hermes.store.sqlite.connection import (
    Database,
    Synchronous,
    close_whole,
    keep_wal,
    lacks_wal,
    mark_in_use,
    migrate,
    open_database,
    open_reader,
    sync_to_disk,
)
from hermes.store.sqlite.copies import copy_before_migration
from hermes.store.sqlite.open_file import OpenFile
from hermes.store.sqlite.tx import SqliteReads
from hermes.store.sqlite.writer import Writer

_SQL = load("upkeep")
_INBOX = load("inbox")
_FEED = load("feed")
_PEOPLE = load("people")
_GRAPH = load("graph")
_SPACE_CHECK_S = 1.0
_MIB = 1024 * 1024
NO_WAL = (
    "was in use when it was copied or moved, and the hermes.db-wal that has its newest messages is not "
    "beside it. Put that file there; or restore a backup into an empty home (`hermes restore FILE`). To "
    "use what is there, without what is missing, start once with `hermes up --accept-lone-database`: "
    "nothing is missing if another program opened this database after a crash"
)


class StoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to open the store; `max_pages` limits the file, like a full disk would.

    Unless `is_new`, a database without a schema is refused: it is not the one that was made here.
    A process that is `alone` with its file knows that all earlier ones are dead; a node that is not
    is considered dead if it is silent for `lease_s`. `accepts_lone` opens a file whose WAL is gone;
    `copies` keeps a copy before a migration.
    """

    synchronous: Synchronous = "FULL"
    group_commit_max: int = 512
    disk_reserve_mb: int = 64
    vfs: str | None = None
    max_pages: int | None = None
    is_new: bool = True
    alone: bool = True
    lease_s: float = 30.0
    accepts_lone: bool = False
    copies: bool = True


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk of a folder."""
    stats = os.statvfs(folder)
    return stats.f_bavail * stats.f_frsize


class SqliteStore(SqlStore):
    """Implements `ports.store.Store`; reading needs no event loop, writing does."""

    def __init__(
        self,
        path: Path,
        *,
        key_file: bytes,
        clock: Clock,
        make_id: MakeId,
        options: StoreOptions,
        measure: Callable[[Path], int] = free_bytes,
        on_commit: OnCommit = no_listener,
    ) -> None:
        self._path = path
        self._measure = measure
        self._clock = clock
        self._options = options
        self._damage: str | None = None
        engine = self._open(Sealer(key_file))
        # Another VFS may have no such file.
        self._file = OpenFile(path) if options.vfs is None else None
        self._space_checked_at = -_SPACE_CHECK_S
        self._space_problem: str | None = None
        self.graphs = SqlGraphReader(self._reader, sealer=engine.sealer)
        super().__init__(
            engine,
            make_id=make_id,
            on_commit=on_commit,
            beside=self._beside,
            lease_s=options.lease_s,
            alone=options.alone,
        )

    def _open(self, sealer: Sealer) -> Engine:
        """Open the file for writing and for reading, and migrate its schema."""
        options = self._options
        self._check_wal()
        self._db = open_database(
            self._path, synchronous=options.synchronous, vfs=options.vfs, now=self._clock.now
        )
        failpoints.hit("store.open.before")
        if options.alone:
            keep_wal(self._db)
        if not options.is_new and not int(str(self._db.pragma("user_version"))):
            self._db.close()
            raise StoreError(
                f"{self._path} holds nothing, not even a schema: it was copied without its -wal file, "
                "or another file was put in its place. Put the -wal file of the same copy beside it, "
                "or restore a backup into an empty home (`hermes restore FILE`)"
            )
        self._migrate(self._db, sealer)
        if options.max_pages is not None:
            self._db.pragma("max_page_count", options.max_pages)
        load_digest_key(self._db, sealer)
        if options.is_new and options.synchronous != "FULL":
            # The key file gets its name after this; from then on a database without a schema is
            # refused.
            sync_to_disk(self._path, vfs=options.vfs)
        if options.alone:
            # After the migrations: the mark holds for the schema that they made.
            mark_in_use(self._db)
        self._db.on_damage = self._found_damage
        failpoints.hit("store.open.after")
        self._reader = open_reader(self._path, vfs=options.vfs, now=self._clock.now)
        self._reader.on_damage = self._found_damage
        writer = Writer(
            self._db,
            batch_max=options.group_commit_max,
            on_full=self._found_full,
            on_undone=sealer.forget_all,
        )
        reads = SqliteReads(self._reader)
        engine = Engine(
            reads,
            writer=writer,
            sealer=sealer,
            clock=self._clock,
            feed=SqlFeed(reads, alone=options.alone, last=int(self._reader.one(_FEED["last"]))),
            open_messages=self._reader.rows(_INBOX["open_shares"]),
        )
        sealer.number_bodies(int(self._reader.one(_PEOPLE["last_body"])))
        engine.graph_numbers.begin_after(int(self._reader.one(_GRAPH["last_graph"])))
        return engine

    def _check_wal(self) -> None:
        """Refuse a file whose newest data was in a WAL that is not there."""
        options = self._options
        if not options.accepts_lone and lacks_wal(self._path, vfs=options.vfs):
            raise StoreError(f"{self._path} {NO_WAL}")

    def _migrate(self, db: Database, sealer: Sealer) -> None:
        options = self._options
        try:
            if options.copies and options.vfs is None:
                reserve = options.disk_reserve_mb * _MIB
                copy_before_migration(db, self._path, free=self._free(), reserve=reserve)
            migrate(db, steps_beside(sealer))
        # Boundary of the migrations: the file is as it was, or as the last whole one left it.
        except BaseException:
            db.close()
            raise

    async def _beside(self, work: Callable[[Rows], Result], /) -> Result:
        """Read in a separate thread and transaction: a consistent view that does not block."""

        def read() -> Result:
            db = open_reader(self._path, vfs=self._options.vfs)
            try:
                db.execute("BEGIN")
                return work(db)
            finally:
                db.close()

        return await asyncio.to_thread(read)

    async def read_graphs(self, work: Callable[[HomeReader], Result]) -> Result:
        """Read graphs in a separate thread and transaction."""
        sealer = self._engine.sealer.apart()

        def read() -> Result:
            reader = SqlGraphReader(open_reader(self._path, vfs=self._options.vfs), sealer=sealer)
            try:
                with reader.moment():
                    return work(reader)
            finally:
                reader.close()

        return await asyncio.to_thread(read)

    async def rotate_keys(
        self, key_file: bytes | None = None, *, tell: Callable[[int], None] | None = None
    ) -> int:
        """Wrap every data key with the newest store key; return how many."""
        done = await super().rotate_keys(key_file, tell=tell)
        if self._options.synchronous != "FULL":
            # The old keys are deleted after this: it must be on disk, whatever the settings say.
            await asyncio.to_thread(sync_to_disk, self._path, vfs=self._options.vfs)
        return done

    async def status(self) -> dict[str, Any]:
        """Return counts and sizes for `hermes status`."""
        reader, writer = self._reader, self._engine.writer
        return {
            "backend": "sqlite",
            "synchronous": self._options.synchronous,
            "messages": dict(reader.rows(_SQL["counts"])),
            "deliveries": dict(reader.rows(_SQL["delivery_counts"])),
            "bytes": _size(self._path) + _size(Path(f"{self._path}-wal")),
            "free_bytes": self._free(),
            "writable": self.writable() or "yes",
            "units_written": writer.units,
            "commits": writer.commits,
        }

    def writable(self) -> str | None:
        """Return why new messages cannot be accepted, or None if they can."""
        now = self._clock.monotonic()
        if now - self._space_checked_at >= _SPACE_CHECK_S:
            self._space_checked_at = now
            self._space_problem = self._lost() or self._check_space()
        return self._damage or self._space_problem

    def _lost(self) -> str | None:
        return None if self._file is None else self._file.problem()

    def _found_full(self, error: StorageFull) -> None:
        """Refuse new messages until the next check finds disk space."""
        self._space_checked_at = self._clock.monotonic()
        self._space_problem = str(error)

    def _found_damage(self, error: StoreDamaged) -> None:
        """Refuse new messages until a restart: what is damaged does not mend itself."""
        self._damage = self._damage or str(error)

    def _check_space(self) -> str | None:
        free, reserve = self._free(), self._options.disk_reserve_mb * _MIB
        if free < reserve:
            return (
                f"the disk has {free // _MIB} MiB left, less than the reserve of "
                f"{self._options.disk_reserve_mb} MiB (store.disk_reserve_mb); free some space"
            )
        return None

    def _free(self) -> int:
        return self._measure(self._path.parent)

    async def close(self) -> None:
        """Finish the running commit and close the files; a lost file is copied first."""
        await self._engine.writer.close()
        if self._file is not None and self._file.problem() is not None:
            await asyncio.to_thread(self._file.rescue, self._reader)
        self._reader.close()
        failpoints.hit("store.close.before")
        if self._options.alone:
            close_whole(self._db)
        else:
            self._db.close()
        failpoints.hit("store.close.after")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
