"""The SQLite store as one value: opens the files, recovers, explains, purges and closes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from hermes import failpoints
from hermes.errors import StorageFull
from hermes.message.ids import MakeId
from hermes.ports.clock import Clock
from hermes.ports.records import Event, MessageRecord, Refusal, Timeline
from hermes.store.sqlite.adoption import steps_beside
from hermes.store.sqlite.answers import SqliteAnswers
from hermes.store.sqlite.approvals import SqliteApprovals
from hermes.store.sqlite.connection import (
    Database,
    Synchronous,
    migrate,
    open_database,
    open_reader,
)
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.facts import SqliteFacts
from hermes.store.sqlite.inbox import SqliteInbox
from hermes.store.sqlite.jobs import SqliteJobs
from hermes.store.sqlite.keys import SqliteKeys
from hermes.store.sqlite.outbox import SqliteOutbox
from hermes.store.sqlite.pairing import SqlitePairing
from hermes.store.sqlite.people import SqliteAccess, SqlitePeople
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.seal import Sealer
from hermes.store.sqlite.shelf import SqliteShelf
from hermes.store.sqlite.souls import SqliteSouls
from hermes.store.sqlite.spend import SqliteSpend
from hermes.store.sqlite.transcripts import SqliteTranscripts
from hermes.store.sqlite.turns import SqliteTurns
from hermes.store.sqlite.users import SqliteUsers
from hermes.store.sqlite.wallet import SqliteWallets
from hermes.store.sqlite.writer import Writer

_SQL = load("upkeep")
_INBOX = load("inbox")
_OUTBOX = load("outbox")
_TURNS = load("turns")
_SPACE_CHECK_S = 1.0
_MIB = 1024 * 1024
_INTERACTION = (
    "agent",
    "platform",
    "llm_backend",
    "llm_cache_hit",
    "soul_load_ms",
    "semantic_recall_used",
    "tools",
    "tool_exec_ms",
    "tokens_in",
    "tokens_out",
    "cost_usd",
    "unpriced",
    "platform_tokens",
    "platform_cost_usd",
    "at",
)


class StoreOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the store is opened; `max_pages` caps the file, as a full disk would."""

    synchronous: Synchronous = "FULL"
    group_commit_max: int = 512
    disk_reserve_mb: int = 64
    vfs: str | None = None
    max_pages: int | None = None


def free_bytes(folder: Path) -> int:
    """Return how much the disk under a folder can still take."""
    stats = os.statvfs(folder)
    return stats.f_bavail * stats.f_frsize


class SqliteStore:
    """Fits `ports.store.Store`; must be made inside a running event loop."""

    def __init__(
        self,
        path: Path,
        *,
        key_file: bytes,
        clock: Clock,
        make_id: MakeId,
        options: StoreOptions,
        measure: Callable[[Path], int] = free_bytes,
    ) -> None:
        self._path = path
        self._measure = measure
        self._clock = clock
        self._options = options
        self._db = open_database(path, synchronous=options.synchronous, vfs=options.vfs)
        failpoints.hit("store.open.before")
        sealer = Sealer(key_file)
        migrate(self._db, steps_beside(sealer))
        if options.max_pages is not None:
            self._db.pragma("max_page_count", options.max_pages)
        sealer.load_digest_key(self._db)
        failpoints.hit("store.open.after")
        self._engine = Engine(
            open_reader(path, vfs=options.vfs),
            writer=Writer(self._db, batch_max=options.group_commit_max, on_full=self._found_full),
            sealer=sealer,
            clock=clock,
        )
        self.transcripts = SqliteTranscripts(self._engine)
        self.graphs = SqliteShelf(self._engine.reader, sealer=sealer)
        self.inbox = SqliteInbox(self._engine, make_id=make_id)
        self.facts = SqliteFacts(self._engine)
        self.souls = SqliteSouls(self._engine)
        self.jobs = SqliteJobs(self._engine, facts=self.facts)
        self.turns = SqliteTurns(self._engine, transcripts=self.transcripts, souls=self.souls)
        self.approvals = SqliteApprovals(self._engine, turns=self.turns)
        self.outbox = SqliteOutbox(self._engine)
        self.keys = SqliteKeys(self._engine, make_id=make_id)
        self.people = SqlitePeople(
            self._engine,
            transcripts=self.transcripts,
            keys=self.keys,
            facts=self.facts,
            souls=self.souls,
        )
        self.users = SqliteUsers(self._engine, keys=self.keys, make_id=make_id)
        self.pairing = SqlitePairing(self._engine, users=self.users)
        self.wallets = SqliteWallets(
            self._engine, open_reader=lambda: open_reader(path, vfs=options.vfs)
        )
        self.spend = SqliteSpend(self._engine)
        self.answers = SqliteAnswers(self._engine)
        self.access = SqliteAccess(self._engine)
        self._space_checked_at = -_SPACE_CHECK_S
        self._space_problem: str | None = None

    async def recover(self) -> None:
        """Void the leases of dead incarnations and mark what they left half done."""

        def unit(db: Database) -> None:
            db.execute(_SQL["void_leases"])
            db.execute(_TURNS["unclaim_orphans"])
            db.execute(_OUTBOX["recover"])

        await self._engine.writer.run("recover", unit)

    async def rotate_keys(self) -> int:
        """Wrap every data key with the newest store key; returns how many."""
        return await self._engine.writer.run("rotate", self._engine.sealer.rewrap_all)

    def digest(self, content: bytes) -> bytes:
        """Return a keyed hash: equal for equal content, and telling nothing without the key."""
        return self._engine.sealer.digest(content)

    def timeline(self, name: str) -> Timeline | None:
        """Return everything known of a message, a refusal or a call, by its id.

        A message is found by its external id too; of a call there are only events.
        """
        message = self._find(name)
        refusal = self._refusal(name)
        if message is None and refusal is not None and refusal.message_id is not None:
            message = self.inbox.get(refusal.message_id)
        known = message.id if message is not None else ""
        events = self._events(known or name)
        if message is None and refusal is None and not events:
            return None
        return Timeline(
            message=message,
            result=self.inbox.result(known),
            steps=self.turns.steps(known),
            events=events,
            deliveries=self.outbox.of_message(known),
            ledger=self._ledger(known),
            interaction=self._interaction(known),
            refusal=refusal,
        )

    def _find(self, name: str) -> MessageRecord | None:
        message = self.inbox.get(name)
        if message is not None:
            return message
        row = self._engine.reader.row(_INBOX["by_external"], (name,))
        return None if row is None else self.inbox.get(str(row[0]))

    def _refusal(self, name: str) -> Refusal | None:
        row = self._engine.reader.row(_INBOX["refusal"], (name,))
        if row is None:
            return None
        return Refusal(
            id=row[0],
            at=row[1],
            platform=row[2],
            code=row[3],
            text=row[4],
            external_id=row[5],
            message_id=row[6],
        )

    def _events(self, message_id: str) -> tuple[Event, ...]:
        rows = self._engine.reader.rows(_INBOX["events"], (message_id,))
        return tuple(Event(row[0], row[1], msgspec.json.decode(row[2])) for row in rows)

    def _ledger(self, message_id: str) -> tuple[dict[str, Any], ...]:
        rows = self._engine.reader.rows(_SQL["ledger"], (message_id,))
        return tuple({"kind": row[0], "amount": row[1], "at": row[2]} for row in rows)

    def _interaction(self, message_id: str) -> dict[str, Any] | None:
        row = self._engine.reader.row(_SQL["interaction"], (message_id,))
        if row is None:
            return None
        return dict(zip(_INTERACTION, row, strict=True))

    async def purge(self, before: float, *, limit: int) -> int:
        """Forget finished messages and calls older than `before`, at most `limit`; how many."""
        reader = self._engine.reader
        has_messages = reader.row(_SQL["old_messages"], (before, 1)) is not None
        if not has_messages and reader.row(_SQL["has_old_calls"], (before,)) is None:
            return 0

        def unit(db: Database) -> int:
            rows = db.rows(_SQL["old_messages"], (before, limit))
            for row in rows:
                _purge_message(db, row)
            db.execute(_SQL["drop_calls"], (before, limit - len(rows)))
            return len(rows) + db.changes()

        return await self._engine.writer.run("purge", unit)

    def status(self) -> dict[str, Any]:
        """Return counts and sizes for `hermes status`."""
        reader, writer = self._engine.reader, self._engine.writer
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
        """Return None while new messages can be kept, otherwise the reason why not."""
        now = self._clock.monotonic()
        if now - self._space_checked_at >= _SPACE_CHECK_S:
            self._space_checked_at = now
            self._space_problem = self._check_space()
        return self._space_problem

    def _found_full(self, error: StorageFull) -> None:
        """Refuse new messages from now on, until the next look at the disk says otherwise."""
        self._space_checked_at = self._clock.monotonic()
        self._space_problem = str(error)

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
        """Finish the running commit and close the files."""
        await self._engine.writer.close()
        self._engine.reader.close()
        self._db.close()


def _purge_message(db: Database, row: tuple[Any, ...]) -> None:
    message_id = row[0]
    bodies = [body for body in row[1:] if body is not None]
    for name in ("step_bodies", "outbox_bodies"):
        bodies += [found[0] for found in db.rows(_SQL[name], (message_id,))]
    for name in ("drop_steps", "drop_events", "drop_outbox", "drop_approvals", "drop_message"):
        db.execute(_SQL[name], (message_id,))
    for body in bodies:
        db.execute(_SQL["drop_body"], (body,))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
