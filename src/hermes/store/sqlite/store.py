"""The SQLite store as one object: opens the files, recovers, explains, purges and closes."""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from hermes import failpoints
from hermes.errors import StorageFull, StoreError
from hermes.message.ids import MakeId
from hermes.ports.clock import Clock
from hermes.ports.inbox import RefusedMessage
from hermes.ports.steps import TimelineEvent
from hermes.ports.timeline import Timeline
from hermes.ports.turns import MessageRecord
from hermes.store.sqlite.adoption import steps_beside
from hermes.store.sqlite.answers import SqliteAnswers
from hermes.store.sqlite.approvals import SqliteApprovals
from hermes.store.sqlite.audit import SqliteAudit
from hermes.store.sqlite.channel_state import SqliteChannelState
from hermes.store.sqlite.connection import (
    Database,
    Synchronous,
    migrate,
    open_database,
    open_reader,
    sync_to_disk,
)
from hermes.store.sqlite.cron import SqliteCron
from hermes.store.sqlite.directory import SqliteDirectory
from hermes.store.sqlite.dreams import SqliteDreams
from hermes.store.sqlite.engine import Engine
from hermes.store.sqlite.facts import SqliteFacts
from hermes.store.sqlite.graph_reader import SqliteGraphReader
from hermes.store.sqlite.group_context import forget_old, has_old
from hermes.store.sqlite.inbox import SqliteInbox
from hermes.store.sqlite.interactions import SqliteInteractions
from hermes.store.sqlite.jobs import SqliteJobs
from hermes.store.sqlite.keys import SqliteKeys
from hermes.store.sqlite.open_file import OpenFile
from hermes.store.sqlite.operations import (
    SqliteDeadLetters,
    SqliteModelSwap,
    SqliteOpenSessions,
    SqlitePauses,
)
from hermes.store.sqlite.outbox import SqliteOutbox
from hermes.store.sqlite.pairing import SqlitePairing
from hermes.store.sqlite.people import SqliteAccess, SqlitePeople
from hermes.store.sqlite.pruning import SqlitePruning
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.seal import Sealer
from hermes.store.sqlite.sends import SqliteSends
from hermes.store.sqlite.sessions import SqliteSessions
from hermes.store.sqlite.souls import SqliteSouls
from hermes.store.sqlite.spend import SqliteSpend
from hermes.store.sqlite.transcripts import OnCommit, SqliteTranscripts, no_listener
from hermes.store.sqlite.turns import SqliteTurns
from hermes.store.sqlite.users import SqliteUsers
from hermes.store.sqlite.vectors import SqliteVectors
from hermes.store.sqlite.wallet import SqliteWallets
from hermes.store.sqlite.writer import Writer

_SQL = load("upkeep")
_INBOX = load("inbox")
_APPROVALS = load("approvals")
_TURNS = load("turns")
_SPACE_CHECK_S = 1.0
# Each takes some 100 us, during which the event loop is blocked.
_REWRAP_ROWS = 100
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
    """How to open the store; `max_pages` limits the file, like a full disk would.

    Unless `is_new`, a database without a schema is refused: it is not the one that was made here.
    """

    synchronous: Synchronous = "FULL"
    group_commit_max: int = 512
    disk_reserve_mb: int = 64
    vfs: str | None = None
    max_pages: int | None = None
    is_new: bool = True


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk of a folder."""
    stats = os.statvfs(folder)
    return stats.f_bavail * stats.f_frsize


class SqliteStore:
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
        self._engine = self._open(Sealer(key_file))
        # Another VFS may have no such file.
        self._file = OpenFile(path) if options.vfs is None else None
        self._space_checked_at = -_SPACE_CHECK_S
        self._space_problem: str | None = None
        self.transcripts = SqliteTranscripts(self._engine, on_commit=on_commit)
        self.graphs = SqliteGraphReader(self._engine.reader, sealer=self._engine.sealer)
        self.inbox = SqliteInbox(self._engine, make_id=make_id)
        self.cron = SqliteCron(self._engine, inbox=self.inbox)
        self.facts = SqliteFacts(self._engine)
        self.vectors = SqliteVectors(self._engine)
        self.souls = SqliteSouls(self._engine)
        self.jobs = SqliteJobs(self._engine, facts=self.facts)
        self.dreams = SqliteDreams(self._engine)
        self.sessions = SqliteSessions(self._engine)
        self.pruning = SqlitePruning(self._engine)
        self.turns = SqliteTurns(
            self._engine, transcripts=self.transcripts, souls=self.souls, make_id=make_id
        )
        self.approvals = SqliteApprovals(self._engine, turns=self.turns)
        self.outbox = SqliteOutbox(self._engine)
        self.dead_letters = SqliteDeadLetters(self._engine, outbox=self.outbox)
        self.paused = SqlitePauses(self._engine)
        self.model_swap = SqliteModelSwap(self._engine)
        self.open_sessions = SqliteOpenSessions(self._engine)
        self.audit = SqliteAudit(self._engine)
        self.sends = SqliteSends(self._engine, make_id=make_id)
        self.directory = SqliteDirectory(self._engine)
        self.channel_state = SqliteChannelState(self._engine)
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
        self.interactions = SqliteInteractions(self._engine)

    def _open(self, sealer: Sealer) -> Engine:
        """Open the file for writing and for reading, and migrate its schema."""
        options = self._options
        self._db = open_database(self._path, synchronous=options.synchronous, vfs=options.vfs)
        failpoints.hit("store.open.before")
        if not options.is_new and not int(str(self._db.pragma("user_version"))):
            self._db.close()
            raise StoreError(
                f"{self._path} holds nothing, not even a schema: it was copied without its -wal file, "
                "or another file was put in its place. Put the database back from a backup, with its "
                "-wal file if there is one"
            )
        migrate(self._db, steps_beside(sealer))
        if options.max_pages is not None:
            self._db.pragma("max_page_count", options.max_pages)
        sealer.load_digest_key(self._db)
        if options.is_new and options.synchronous != "FULL":
            # The key file gets its name after this; from then on a database without a schema is
            # refused.
            sync_to_disk(self._path, vfs=options.vfs)
        failpoints.hit("store.open.after")
        return Engine(
            open_reader(self._path, vfs=options.vfs),
            writer=Writer(
                self._db,
                batch_max=options.group_commit_max,
                on_full=self._found_full,
                on_undone=sealer.forget_all,
            ),
            sealer=sealer,
            clock=self._clock,
        )

    async def recover(self) -> tuple[str, ...]:
        """Void the leases of dead processes and mark what they left half done.

        Returns the lanes that they were working on.
        """

        def unit(db: Database) -> tuple[str, ...]:
            cut_off = tuple(str(row[0]) for row in db.rows(_SQL["void_leases"]))
            db.execute(_TURNS["unclaim_orphans"])
            self.outbox.recover(db, at=self._clock.now())
            db.execute(_APPROVALS["orphans"])
            return cut_off

        return await self._engine.writer.run("recover", unit)

    async def rotate_keys(
        self, key_file: bytes | None = None, *, tell: Callable[[int], None] | None = None
    ) -> int:
        """Wrap every data key with the newest store key; return how many.

        From now on `key_file` is used, which holds the old keys and a newer one. It works in small
        transactions, so that messages continue meanwhile; an interrupted rotation can be repeated.
        """
        engine = self._engine
        if key_file is not None:
            engine.sealer.use_keys(key_file)
        done, last, count = 0, "", _REWRAP_ROWS
        while count == _REWRAP_ROWS:
            count, last = await engine.writer.run("rotate", partial(self._rewrap, after=last))
            done += count
            if tell is not None:
                tell(done)
        if self._options.synchronous != "FULL":
            # The old keys are deleted after this: it must be on disk, whatever the settings say.
            await asyncio.to_thread(sync_to_disk, self._path, vfs=self._options.vfs)
        return done

    def _rewrap(self, db: Database, *, after: str) -> tuple[int, str]:
        if not after:
            self._engine.sealer.rewrap_digest_key(db)
        return self._engine.sealer.rewrap_some(db, after, limit=_REWRAP_ROWS)

    def digest(self, content: bytes) -> bytes:
        """Return a keyed hash: equal for equal content, and useless without the key."""
        return self._engine.sealer.digest(content)

    async def timeline(self, name: str) -> Timeline | None:
        """Return everything known about a message, a refusal or a call, by its id.

        A message is also found by its external id; a call has only events.
        """
        message = await self._find(name)
        refusal = self._refusal(name)
        if message is None and refusal is not None and refusal.message_id is not None:
            message = await self.inbox.get(refusal.message_id)
        known = message.id if message is not None else ""
        events = self._events(known or name)
        if message is None and refusal is None and not events:
            return None
        return Timeline(
            message=message,
            result=await self.inbox.result(known),
            steps=self.turns.steps(known),
            events=events,
            deliveries=self.outbox.of_message(known),
            ledger=self._ledger(known),
            interaction=self._interaction(known),
            refusal=refusal,
        )

    async def _find(self, name: str) -> MessageRecord | None:
        message = await self.inbox.get(name)
        if message is not None:
            return message
        row = self._engine.reader.row(_INBOX["by_external"], (name,))
        return None if row is None else await self.inbox.get(str(row[0]))

    def _refusal(self, name: str) -> RefusedMessage | None:
        row = self._engine.reader.row(_INBOX["refusal"], (name,))
        if row is None:
            return None
        return RefusedMessage(
            id=row[0],
            at=row[1],
            platform=row[2],
            code=row[3],
            text=row[4],
            external_id=row[5],
            message_id=row[6],
        )

    def _events(self, message_id: str) -> tuple[TimelineEvent, ...]:
        rows = self._engine.reader.rows(_INBOX["events"], (message_id,))
        return tuple(TimelineEvent(row[0], row[1], msgspec.json.decode(row[2])) for row in rows)

    def _ledger(self, message_id: str) -> tuple[dict[str, Any], ...]:
        rows = self._engine.reader.rows(_SQL["ledger"], (message_id,))
        return tuple({"kind": row[0], "amount": row[1], "at": row[2]} for row in rows)

    def _interaction(self, message_id: str) -> dict[str, Any] | None:
        row = self._engine.reader.row(_SQL["interaction"], (message_id,))
        if row is None:
            return None
        return dict(zip(_INTERACTION, row, strict=True))

    async def purge(self, before: float, *, limit: int) -> int:
        """Delete finished messages and calls from before `before`, at most `limit`; how many."""
        reader = self._engine.reader
        has_messages = any(
            reader.row(_SQL[name], (before, 1)) is not None
            for name in ("old_messages", "old_sends")
        )
        now = self._engine.clock.now()
        has_more = has_messages or has_old(reader, now)
        if not has_more and reader.row(_SQL["has_old_calls"], (before,)) is None:
            return 0

        def unit(db: Database) -> int:
            rows = db.rows(_SQL["old_messages"], (before, limit))
            for row in rows:
                _purge_message(db, row)
            sends = db.rows(_SQL["old_sends"], (before, limit - len(rows)))
            for send_id, body in sends:
                db.execute(_SQL["drop_outbox"], (send_id,))
                db.execute(_SQL["drop_body"], (body,))
            rows += sends
            forget_old(db, now, limit=limit)
            db.execute(_SQL["drop_calls"], (before, limit - len(rows)))
            return len(rows) + db.changes()

        return await self._engine.writer.run("purge", unit)

    async def status(self) -> dict[str, Any]:
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
        """Return why new messages cannot be accepted, or None if they can."""
        now = self._clock.monotonic()
        if now - self._space_checked_at >= _SPACE_CHECK_S:
            self._space_checked_at = now
            self._space_problem = self._lost() or self._check_space()
        return self._space_problem

    def _lost(self) -> str | None:
        return None if self._file is None else self._file.problem()

    def _found_full(self, error: StorageFull) -> None:
        """Refuse new messages until the next check finds disk space."""
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
        """Finish the running commit and close the files; a lost file is copied first."""
        await self._engine.writer.close()
        if self._file is not None and self._file.problem() is not None:
            await asyncio.to_thread(self._file.rescue, self._engine.reader)
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
