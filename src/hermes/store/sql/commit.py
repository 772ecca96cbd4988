"""The end of a turn as one transaction: outcome, graph, credits, spending, outbox and events."""

import msgspec

from hermes.errors import GuardFailed, LeaseLost, SendingBegan
from hermes.message.chat import ChatMessage
from hermes.message.outcome import DeliveryState
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease
from hermes.ports.turns import Commit, DeliveryStop, Interaction
from hermes.store.sql.activity import count_turn
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.jobs import put_job
from hermes.store.sql.offers import write_offer
from hermes.store.sql.places import result_place
from hermes.store.sql.queries import load
from hermes.store.sql.souls import SqlSouls
from hermes.store.sql.spend import add_spent
from hermes.store.sql.steps import end_steps
from hermes.store.sql.transcripts import GraphWrite, SqlTranscripts
from hermes.store.sql.tx import Tx
from hermes.store.sql.wallet import end_hold

_SQL = load("turns")
_OUTBOX = load("outbox")
_PEOPLE = load("people")
_SESSIONS = load("sessions")
_APPROVALS = load("approvals")


def write_delivery(
    tx: Tx,
    delivery: NewDelivery,
    *,
    message_id: str,
    person_id: str,
    body: int | None,
    at: float,
) -> None:
    """Insert a delivery, or give the preview with the same id its final form."""
    target = delivery.target
    tx.put(
        _OUTBOX["insert"],
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
        delivery.vanish_s if delivery.state is DeliveryState.PENDING else 0.0,
    )


# What a turn adds to its session: epoch, turns, tokens, cost and choices.
Used = tuple[int | float | str | None, ...]
# What it adds while it has not ended.
NOTHING_USED: Used = (-1, 0, 0, 0, 0, 0, 0.0, 0, None)


def release_lane(
    tx: Tx,
    lease: Lease,
    *,
    moved: int,
    at: float,
    waiting_on: str | None,
    used: Used,
) -> None:
    """End a lease; the unit fails with `LeaseLost` if it was lost."""
    lost = LeaseLost(f"lane {lease.lane}: fence {lease.fence} no longer holds it")
    holder = (lease.lane, lease.owner, lease.fence)
    tx.must(_SQL["release"], *holder, moved, at, waiting_on, *used, error=lost)


class CommitUnit:
    """Writes one `Commit` under one lease; `run` returns what the session's graph got, if any."""

    def __init__(
        self,
        engine: Engine,
        *,
        lease: Lease,
        commit: Commit,
        transcripts: SqlTranscripts,
        souls: SqlSouls,
    ) -> None:
        self._engine = engine
        self._souls = souls
        self._transcripts = transcripts
        self._lease = lease
        self._commit = commit

    async def run(self, tx: Tx) -> GraphWrite | None:
        """Write everything; raises `LeaseLost` or `GuardFailed` and then nothing is written."""
        head = self._release(tx)
        commit = self._commit
        step_bodies = await end_steps(
            self._engine, tx, commit.message_id, person_id=commit.person_id, steps=commit.ended
        )
        written = await self._move_on(tx, head)
        entry_bodies = await self._write_entries(tx, written, step_bodies)
        reply_body = await self._reply_body(tx, written, entry_bodies)
        await self._finish(tx, reply_body)
        if commit.is_resumed:
            tx.put(_APPROVALS["close_questions"], commit.message_id)
        self._settle_claims(tx)
        await end_hold(tx, commit.message_id, charge=commit.charge, at=commit.at)
        add_spent(tx, commit.spent)
        await self._deliver(tx, reply_body)
        await self._souls.write(tx, self._lease.lane, commit)
        for job in commit.jobs:
            put_job(tx, job)
        if commit.interaction is not None:
            self._write_interaction(tx, commit.interaction)
            count_turn(tx, commit, commit.interaction)
        self._engine.add_events(tx, commit.message_id, commit.events)
        if commit.reset_lane is not None:
            begun = (commit.reset_lane, commit.end_reason, commit.at)
            for (epoch,) in await tx.rows(_SQL["reset_lane"], *begun):
                tx.put(_SESSIONS["move_waiting"], commit.reset_lane, epoch)
        if commit.interrupts is not None:
            tx.put(_SQL["interrupt"], commit.interrupts, commit.message_id)
            await tx.rows(_SQL["interrupt_branch"], commit.interrupts, commit.message_id)
        if commit.stops_below is not None:
            tx.put(_SQL["interrupt_below"], commit.stops_below, commit.message_id)
        if commit.stops_sending is not None:
            await self._stop_sending(tx, commit.stops_sending)
        return written

    async def _stop_sending(self, tx: Tx, stop: DeliveryStop) -> None:
        where = (stop.lane, stop.target.platform, stop.target.chat_id)
        by = (self._commit.message_id, self._commit.at)
        if await tx.changed(_OUTBOX["stop_sending"], *where, *by) and not stop.is_expected:
            raise SendingBegan(f"a reply of {stop.lane} is being sent by now")

    async def _move_on(self, tx: Tx, head: int) -> GraphWrite | None:
        """Advance the session, if the turn has said anything."""
        commit = self._commit
        if commit.rewind is not None:
            tx.put(_SQL["forget_session"], self._lease.lane)
            return await self._transcripts.rewind(tx, self._lease.lane, commit, head=head)
        if not commit.entries:
            return None
        return await self._transcripts.write(tx, self._lease.lane, commit, head=head)

    def _release(self, tx: Tx) -> int:
        """Give the lane back; return its head afterwards."""
        lease, commit = self._lease, self._commit
        moved = len(commit.entries) + (commit.rewind is not None)
        release_lane(tx, lease, moved=moved, at=commit.at, waiting_on=None, used=_used(commit))
        return lease.head + moved

    async def _write_entries(
        self, tx: Tx, written: GraphWrite | None, step_bodies: dict[int, int]
    ) -> dict[int, int]:
        """Make the entries messages of the graph; return the bodies of those that are steps."""
        commit = self._commit
        if written is None:
            return {}
        bodies: dict[int, int] = {}
        for index, (entry, blob) in enumerate(
            zip(commit.entries, written.growth.blobs, strict=True)
        ):
            if entry.ordinal is None:
                await self._engine.sealer.put_blob(
                    tx,
                    commit.person_id,
                    encode(entry.message),
                    graph=written.graph,
                    name=blob.id,
                )
                continue
            body = step_bodies.get(entry.ordinal)
            if body is None:
                body = await self._step_body(tx, entry.ordinal)
            bodies[index] = body
            tx.put(_PEOPLE["name_body"], body, written.graph, blob.id)
        return bodies

    async def _step_body(self, tx: Tx, ordinal: int) -> int:
        """Return the body of a step that ended before the commit."""
        message_id = self._commit.message_id
        row = await tx.row(_SQL["step_body"], message_id, ordinal)
        if row is None or row[0] is None:
            raise GuardFailed(f"step {ordinal} of {message_id} has no body")
        return int(row[0])

    async def _reply_body(
        self, tx: Tx, written: GraphWrite | None, entry_bodies: dict[int, int]
    ) -> int | None:
        commit, index = self._commit, self._commit.reply_entry
        if index is None:
            if commit.reply is None:
                return None
            return await self._engine.sealer.put(tx, commit.person_id, encode(commit.reply))
        if index in entry_bodies:
            return entry_bodies[index]
        assert written is not None
        name = written.growth.blobs[index].id
        return int(await tx.one(_PEOPLE["blob"], written.graph, name, commit.person_id))

    async def _finish(self, tx: Tx, reply_body: int | None) -> None:
        commit = self._commit
        result = msgspec.structs.replace(commit.result, text="")
        result_body = await self._engine.sealer.put(
            tx, commit.person_id, encode(result), place=result_place(commit.message_id)
        )
        tx.must(
            _SQL["finish_message"],
            commit.message_id,
            commit.outcome.value,
            commit.at,
            result_body,
            reply_body,
            error=GuardFailed(f"message {commit.message_id} is not running"),
        )

    def _settle_claims(self, tx: Tx) -> None:
        commit = self._commit
        for merged in commit.merged:
            tx.must(
                _SQL["finish_merged"],
                merged,
                commit.message_id,
                commit.at,
                error=GuardFailed(f"message {merged} is not part of {commit.message_id}"),
            )
        tx.put(_SQL["unclaim"], commit.message_id)

    async def _deliver(self, tx: Tx, reply_body: int | None) -> None:
        commit = self._commit
        for delivery in commit.deliveries:
            body = reply_body
            if delivery.parts is not None:
                notice = ChatMessage("assistant", delivery.parts)
                body = await self._engine.sealer.put(tx, commit.person_id, encode(notice))
            write_delivery(
                tx,
                delivery,
                message_id=commit.message_id,
                person_id=commit.person_id,
                body=body,
                at=commit.at,
            )
            await write_offer(
                tx,
                self._engine,
                delivery.offer,
                delivery=delivery.id,
                message_id=commit.message_id,
                person_id=commit.person_id,
                platform=delivery.target.platform,
            )

    def _write_interaction(self, tx: Tx, row: Interaction) -> None:
        commit = self._commit
        tx.put(
            _SQL["interaction"],
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
        )


def _used(commit: Commit) -> Used:
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
