"""The end of a turn as one transaction: outcome, graph, credits, spending, outbox and events."""

import msgspec

from hermes.errors import GuardFailed, LeaseLost
from hermes.message.chat import ChatMessage
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease
from hermes.ports.transcripts import TranscriptEntry
from hermes.ports.turns import Commit, Interaction
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.engine import Engine, encode
from hermes.store.sqlite.jobs import put_job
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.souls import SqliteSouls
from hermes.store.sqlite.spend import add_spent
from hermes.store.sqlite.steps import end_steps
from hermes.store.sqlite.transcripts import GraphWrite, SqliteTranscripts
from hermes.store.sqlite.wallet import end_hold

_SQL = load("turns")
_OUTBOX = load("outbox")
_PEOPLE = load("people")
_SESSIONS = load("sessions")


def write_delivery(
    db: Database,
    delivery: NewDelivery,
    *,
    message_id: str,
    person_id: str,
    body: int | None,
    at: float,
) -> None:
    """Insert a delivery, or give the preview with the same id its final form."""
    target = delivery.target
    db.execute(
        _OUTBOX["insert"],
        (
            delivery.id,
            message_id,
            person_id,
            target.platform,
            target.chat_id,
            encode(target).decode(),
            body,
            delivery.state.value,
            delivery.purpose,
            at,
        ),
    )


# What a release writes if the turn has not ended: epoch, turns, tokens, cost and choices.
NOTHING_USED: tuple[int | float | str | None, ...] = (-1, 0, 0, 0, 0, 0, 0.0, 0, None)


class CommitUnit:
    """Writes one `Commit` under one lease; `run` returns what the session's graph got, if any."""

    def __init__(
        self,
        engine: Engine,
        *,
        lease: Lease,
        commit: Commit,
        transcripts: SqliteTranscripts,
        souls: SqliteSouls,
    ) -> None:
        self._engine = engine
        self._souls = souls
        self._transcripts = transcripts
        self._lease = lease
        self._commit = commit

    def run(self, db: Database) -> GraphWrite | None:
        """Write everything; raises `LeaseLost` or `GuardFailed` and then nothing is written."""
        head = self._release(db)
        commit = self._commit
        step_bodies = end_steps(
            self._engine, db, commit.message_id, person_id=commit.person_id, steps=commit.ended
        )
        written = self._move_on(db, head)
        entry_bodies = self._write_entries(db, written, step_bodies)
        reply_body = self._reply_body(db, entry_bodies)
        self._finish(db, reply_body)
        self._settle_claims(db)
        end_hold(db, commit.message_id, charge=commit.charge, at=commit.at)
        add_spent(db, commit.spent)
        self._deliver(db, reply_body)
        self._souls.write(db, self._lease.lane, commit)
        put_job(db, commit.job)
        if commit.interaction is not None:
            self._write_interaction(db, commit.interaction)
        self._engine.add_events(db, commit.message_id, commit.events)
        if commit.reset_lane is not None:
            begun = (commit.reset_lane, commit.end_reason, commit.at)
            for (epoch,) in db.rows(_SQL["reset_lane"], begun):
                db.execute(_SESSIONS["move_waiting"], (commit.reset_lane, epoch))
        if commit.interrupts is not None:
            db.execute(_SQL["interrupt"], (commit.interrupts, commit.message_id))
        if commit.stops_below is not None:
            db.execute(_SQL["interrupt_below"], (commit.stops_below, commit.message_id))
        return written

    def _move_on(self, db: Database, head: int) -> GraphWrite | None:
        """Advance the session, if the turn has said anything."""
        commit = self._commit
        if commit.rewind is not None:
            return self._transcripts.rewind(db, self._lease.lane, commit, head=head)
        if not commit.entries:
            return None
        return self._transcripts.write(db, self._lease.lane, commit, head=head)

    def _release(self, db: Database) -> int:
        lease, commit = self._lease, self._commit
        now = self._engine.clock.monotonic()
        row = db.row(
            _SQL["release"],
            (
                lease.lane,
                lease.owner,
                lease.fence,
                now,
                len(commit.entries) + (commit.rewind is not None),
                commit.at,
                None,
                *_used(commit),
            ),
        )
        if row is None:
            raise LeaseLost(f"lane {lease.lane}: fence {lease.fence} no longer holds it")
        return int(row[0])

    def _write_entries(
        self, db: Database, written: GraphWrite | None, step_bodies: dict[int, int]
    ) -> list[int]:
        if written is None:
            return []
        blobs = written.growth.blobs
        return [
            self._entry_body(db, entry, name=blob.id, graph=written.graph, step_bodies=step_bodies)
            for entry, blob in zip(self._commit.entries, blobs, strict=True)
        ]

    def _entry_body(
        self,
        db: Database,
        entry: TranscriptEntry,
        *,
        name: bytes,
        graph: int,
        step_bodies: dict[int, int],
    ) -> int:
        """Return the body of an entry, which becomes a message of the graph."""
        commit, ordinal = self._commit, entry.ordinal
        if ordinal is None:
            return self._engine.sealer.put_blob(
                db, commit.person_id, encode(entry.message), graph=graph, name=name
            )
        body = step_bodies.get(ordinal)
        if body is None:
            row = db.row(_SQL["step_body"], (commit.message_id, ordinal))
            if row is None or row[0] is None:
                raise GuardFailed(f"step {ordinal} of {commit.message_id} has no body")
            body = int(row[0])
        db.execute(_PEOPLE["name_body"], (body, graph, name))
        return body

    def _reply_body(self, db: Database, entry_bodies: list[int]) -> int | None:
        commit = self._commit
        if commit.reply_entry is not None:
            return entry_bodies[commit.reply_entry]
        if commit.reply is None:
            return None
        return self._engine.sealer.put(db, commit.person_id, encode(commit.reply))

    def _finish(self, db: Database, reply_body: int | None) -> None:
        commit = self._commit
        result = msgspec.structs.replace(commit.result, text="")
        result_body = self._engine.sealer.put(db, commit.person_id, encode(result))
        db.execute(
            _SQL["finish_message"],
            (commit.message_id, commit.outcome.value, commit.at, result_body, reply_body),
        )
        if db.changes() != 1:
            raise GuardFailed(f"message {commit.message_id} is not running")

    def _settle_claims(self, db: Database) -> None:
        commit = self._commit
        for merged in commit.merged:
            db.execute(_SQL["finish_merged"], (merged, commit.message_id, commit.at))
            if db.changes() != 1:
                raise GuardFailed(f"message {merged} is not part of {commit.message_id}")
        db.execute(_SQL["unclaim"], (commit.message_id,))

    def _deliver(self, db: Database, reply_body: int | None) -> None:
        commit = self._commit
        for delivery in commit.deliveries:
            body = reply_body
            if delivery.parts is not None:
                notice = ChatMessage("assistant", delivery.parts)
                body = self._engine.sealer.put(db, commit.person_id, encode(notice))
            write_delivery(
                db,
                delivery,
                message_id=commit.message_id,
                person_id=commit.person_id,
                body=body,
                at=commit.at,
            )

    def _write_interaction(self, db: Database, row: Interaction) -> None:
        commit = self._commit
        db.execute(
            _SQL["interaction"],
            (
                commit.message_id,
                commit.person_id,
                row.agent,
                row.platform,
                row.llm_backend,
                row.llm_cache_hit,
                row.soul_load_ms,
                row.semantic_recall_used,
                ",".join(row.tools),
                row.tool_exec_ms,
                row.usage.tokens_in,
                row.usage.tokens_out,
                row.usage.cost_usd,
                row.usage.unpriced,
                row.platform_usage.tokens_in + row.platform_usage.tokens_out,
                row.platform_usage.cost_usd,
                commit.at,
            ),
        )


def _used(commit: Commit) -> tuple[int | float | str | None, ...]:
    """Return what a turn adds to its session: itself, its tokens and cost, and choices."""
    usage, choices = commit.result.usage, commit.choices
    return (
        commit.epoch,
        int(bool(commit.entries)),
        usage.tokens_in,
        usage.tokens_out,
        usage.cached_in,
        usage.cache_written,
        usage.cost_usd,
        usage.unpriced,
        None if choices is None else encode(choices).decode(),
    )
