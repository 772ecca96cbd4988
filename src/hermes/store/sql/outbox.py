"""The rows of replies and their states; the outbox decides what to do with them."""

from collections.abc import Sequence
from typing import Any

import msgspec
import structlog

from hermes.errors import GuardFailed, StoreError
from hermes.message.chat import ChatMessage
from hermes.message.outcome import DeliveryState
from hermes.ports.channel import Target
from hermes.ports.outbox import DeliveryNote, DeliveryRecord, HandleUse, NewDelivery
from hermes.ports.steps import Lease, TimelineEvent
from hermes.store.sql.delivery_story import DeliveryStories
from hermes.store.sql.engine import Engine, decode_event, encode
from hermes.store.sql.places import event_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Reads, Row, Tx

_SQL = load("outbox")
_log = structlog.get_logger(__name__)
_decode = msgspec.json.Decoder(ChatMessage).decode
_decode_target = msgspec.json.Decoder(Target).decode


class SqlOutbox:
    """Implements `ports.outbox.OutboxStore`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.stories = DeliveryStories(engine)
        # Every accept reads this count; it changes only with a commit.
        self._counted_at = -1
        self._counted = 0

    async def open_preview(
        self, lease: Lease, delivery: NewDelivery, *, message_id: str, person_id: str
    ) -> DeliveryRecord:
        """Write a preview row before its first send; on resume return the existing row."""
        target = delivery.target

        async def unit(tx: Tx) -> DeliveryRecord:
            self._engine.lock_lane(tx, lease)
            tx.put(
                _SQL["insert_preview"],
                delivery.id,
                message_id,
                person_id,
                target.platform,
                target.chat_id,
                encode(target).decode(),
                delivery.purpose,
                self._engine.clock.now(),
                lease.owner,
            )
            return await self.record(tx, (await tx.rows(_SQL["get"], delivery.id))[0])

        return await self._engine.writer.run("open_preview", unit)

    async def preview_sent(
        self, lease: Lease, delivery_id: str, *, platform_message_id: str, number: int = 0
    ) -> None:
        """Store the platform's id of a preview's message before any edit."""

        async def unit(tx: Tx) -> None:
            self._engine.lock_lane(tx, lease)
            if number == 0:
                self._change(tx, "preview_sent", delivery_id, platform_message_id, lease.owner)
            else:
                self._change(tx, "preview_went_on", delivery_id, number, lease.owner)
                tx.put(_SQL["name_more"], delivery_id, number, platform_message_id)

        await self._engine.writer.run("preview_sent", unit)

    async def preview_opens(
        self, lease: Lease, delivery_id: str, *, number: int, is_sent: bool = True
    ) -> None:
        """Write that a preview's message `number` (from 1) may be posted, or is not."""
        change, row = (
            ("preview_opens", "add_more") if is_sent else ("preview_not_sent", "drop_more")
        )

        async def unit(tx: Tx) -> None:
            self._engine.lock_lane(tx, lease)
            self._change(tx, change, delivery_id, number, lease.owner)
            tx.put(_SQL[row], delivery_id, number)

        await self._engine.writer.run("preview_opens", unit)

    async def fresh(self, delivery_id: str) -> None:
        """Send the whole reply again; the preview's messages are deleted afterwards."""
        await self._run("fresh", delivery_id)

    async def is_shown(self, delivery_id: str) -> bool:
        """Return whether a preview is known to be posted on its platform."""
        return await self._engine.reads.row(_SQL["is_shown"], delivery_id) is not None

    async def due(
        self, platform: str, now: float, *, limit: int, at_most_s: float = 1e9
    ) -> tuple[DeliveryRecord, ...]:
        """Return what may be sent now, in order; a retrying reply blocks its chat."""
        rows = await self._engine.reads.rows(_SQL["due"], platform, now, limit, at_most_s)
        return tuple([await self.record(self._engine.reads, row) for row in rows])

    async def next_due_at(self, platform: str) -> float | None:
        """Return when the next waiting delivery of a platform becomes due."""
        row = await self._engine.reads.row(_SQL["next_due_at"], platform)
        return None if row is None or row[0] is None else float(row[0])

    async def sent_since(
        self, platform: str, since: float, *, limit: int
    ) -> tuple[tuple[str, float], ...]:
        """Return the chats and times of the last messages sent to a platform, the oldest first."""
        rows = await self._engine.reads.rows(_SQL["sent_since"], platform, since, limit)
        sent = [(row[0], row[1]) for row in rows for _ in range(row[2])]
        return tuple(reversed(sent[:limit]))

    async def use_handle(self, delivery_id: str, *, key: str, most: int) -> HandleUse | None:
        """Count a send under `key` as a use of its message's reply handle; None if it has none."""

        async def unit(tx: Tx) -> HandleUse | None:
            row = await tx.row(_SQL["handle"], delivery_id)
            if row is None:
                return None
            message_id, person_id, body, received_at, used, known, number, chat = row
            place = event_place(message_id)
            content = await self._engine.sealer.get(tx, body, owner=person_id, place=place)
            event = None if content is None else decode_event(content)
            handle = None if event is None or event.source.chat_id != chat else event.handle
            if handle is None:
                return None
            if known != key:
                limit = min(filter(None, (handle.uses, most)), default=used + 1)
                number = used + 1 if used < limit else 0
                if number:
                    tx.put(_SQL["use_handle"], message_id, number)
                    tx.put(_SQL["number_handle"], delivery_id, key, number)
            return HandleUse(handle=handle, number=number, received_at=received_at)

        return await self._engine.writer.run("use_handle", unit)

    async def sending(
        self,
        delivery_id: str,
        *,
        chunk: int,
        at: float,
        is_stopped: bool = False,
        most: int | None = None,
        last: bool = False,
    ) -> None:
        """Mark a chunk as being sent, before the platform call."""
        how = (self._engine.node, int(is_stopped), most, int(last))
        await self._run("sending", delivery_id, chunk, at, *how)

    async def chunk_sent(
        self,
        delivery_id: str,
        *,
        chunk: int,
        platform_message_id: str,
        last: bool,
        at: float,
        note: DeliveryNote | None = None,
    ) -> None:
        """Mark a chunk as delivered."""

        async def unit(tx: Tx) -> None:
            self._change(tx, "chunk_sent", delivery_id, chunk, platform_message_id, last, at)
            if chunk > 0 and platform_message_id:
                tx.put(_SQL["add_part"], platform_message_id, delivery_id)
            await self.stories.tell(tx, delivery_id, note)

        await self._engine.writer.run("delivery_chunk_sent", unit)

    async def retry(
        self,
        delivery_id: str,
        *,
        at: float,
        failure: str,
        counts: bool,
        note: DeliveryNote | None = None,
    ) -> None:
        """Schedule a delivery for `at`; `counts` uses up an attempt."""
        await self._run("retry", delivery_id, at, failure, int(counts), note=note)

    async def unknown(
        self, delivery_id: str, *, at: float, note: DeliveryNote | None = None
    ) -> None:
        """Mark a delivery that may or may not have arrived."""
        await self._run("unknown", delivery_id, at, note=note)

    async def hold(self, delivery_id: str, *, at: float, note: DeliveryNote | None = None) -> None:
        """Hold an `unknown` delivery for the operator."""
        await self._run("hold", delivery_id, at, note=note)

    async def dead(
        self, delivery_id: str, *, failure: str, at: float, note: DeliveryNote | None = None
    ) -> None:
        """Move a delivery to the dead letters."""
        await self._run("dead", delivery_id, failure, at, note=note)

    async def stopped(self, delivery_id: str, *, at: float, note: DeliveryNote) -> None:
        """End a delivery whose person stopped it."""
        await self._run("stopped", delivery_id, at, note=note)

    async def is_sending(self, lane: str, target: Target) -> bool:
        """Return whether a reply of a session is posted in part, or being sent, to a chat."""
        where = (lane, target.platform, target.chat_id)
        return await self._engine.reads.row(_SQL["is_sending"], *where) is not None

    async def returned(
        self, delivery_id: str, *, platform: str, chunk: int, failure: str, status: str, at: float
    ) -> str | None:
        """Make a sent delivery that came back a dead letter; return the message's id."""

        async def unit(tx: Tx) -> str | None:
            row = await tx.row(_SQL["returned"], delivery_id, platform, failure, at, chunk)
            if row is None:
                return None
            told = {"delivery": delivery_id, "failure": failure, "status": status}
            self._engine.add_events(tx, row[0], (TimelineEvent("returned", at, told),))
            why = f"it came back: {status}" if status else "it came back"
            note = DeliveryNote(at=at, failure=failure, why=why, then="dead")
            await self.stories.tell(tx, delivery_id, note)
            return str(row[0])

        return await self._engine.writer.run("delivery_returned", unit)

    async def arrived(
        self,
        delivery_id: str,
        *,
        platform: str,
        chunk: int,
        is_fresh: bool,
        platform_message_id: str,
        at: float,
    ) -> str | None:
        """Settle a chunk of which the platform says later that it arrived; return the message's id."""

        async def unit(tx: Tx) -> str | None:
            found = (delivery_id, platform, chunk, int(is_fresh))
            row = await tx.row(_SQL["in_doubt"], *found)
            if row is None:
                return None
            message_id, sending_at, more, state, may_be_edit = row
            named = (delivery_id, chunk, platform_message_id)
            # What a preview posted shows the beginning of the reply only.
            is_preview = (chunk == 0 and sending_at is None) or (
                0 < chunk <= more and await tx.changed(_SQL["more_found"], *named) == 1
            )
            if may_be_edit and chunk <= more and not is_preview:
                # It was posted before: its edit is on the wire, of which this says nothing.
                return None
            change = "preview_found" if is_preview else "settled"
            tx.put(_SQL[change], delivery_id, platform_message_id, *(() if is_preview else (at,)))
            if chunk > 0:
                tx.put(_SQL["add_part"], platform_message_id, delivery_id)
            # Its call has not ended yet: nothing was in doubt.
            is_news = state != DeliveryState.SENDING
            note = DeliveryNote(at=at, then="arrived", tried=False, chunk=chunk)
            await self.stories.tell(tx, delivery_id, note if is_news else None)
            return str(message_id)

        return await self._engine.writer.run("delivery_arrived", unit)

    async def recover(self, tx: Tx, *, node: str, at: float) -> None:
        """Mark what a dead node was sending as unknown, inside the current transaction."""
        why = "the gateway ended while it was being sent"
        note = DeliveryNote(at=at, failure="network_timeout", why=why, then="unknown")
        for row in await tx.rows(_SQL["on_the_wire"], node):
            await self.stories.tell(tx, row[0], note)
        tx.put(_SQL["recover"], node)

    async def unsettled(self, platform: str) -> tuple[DeliveryRecord, ...]:
        """Return the `unknown` deliveries that are not resolved yet."""
        rows = await self._engine.reads.rows(_SQL["unsettled"], platform)
        return tuple([await self.record(self._engine.reads, row) for row in rows])

    async def expire(self, before: float, *, served: Sequence[str], at: float) -> int:
        """Make replies older than `before` dead letters on platforms without a sender."""
        names = encode(served).decode()
        if await self._engine.reads.row(_SQL["has_expired"], before, names) is None:
            return 0

        async def unit(tx: Tx) -> int:
            expired = await tx.rows(_SQL["expire"], before, at, names)
            note = DeliveryNote(at=at, failure="too_old", then="dead", tried=False)
            for row in expired:
                await self.stories.tell(tx, row[0], note)
            return len(expired)

        return await self._engine.writer.run("expire_deliveries", unit)

    async def waiting(self, platform: str | None = None) -> int:
        """Return how many deliveries are not finished."""
        if platform is not None:
            return await self._count_waiting(platform)
        commits = self._engine.writer.commits
        if commits != self._counted_at:
            self._counted_at, self._counted = commits, await self._count_waiting(None)
        return self._counted

    async def _count_waiting(self, platform: str | None) -> int:
        return int(await self._engine.reads.one(_SQL["count_waiting"], platform))

    async def message_of(self, delivery_id: str) -> str | None:
        """Return the message that a delivery answers, or its own id if it answers none."""
        row = await self._engine.reads.row(_SQL["message_of"], delivery_id)
        return None if row is None else str(row[0])

    async def of_message(self, message_id: str) -> tuple[DeliveryRecord, ...]:
        """Return the deliveries of a message."""
        rows = await self._engine.reads.rows(_SQL["of_message"], message_id)
        return tuple([await self.record(self._engine.reads, row) for row in rows])

    # Any: SQLite values, as the named query orders them.
    async def _run(self, name: str, *bindings: Any, note: DeliveryNote | None = None) -> None:
        async def unit(tx: Tx) -> None:
            self._change(tx, name, *bindings)
            await self.stories.tell(tx, bindings[0], note)

        await self._engine.writer.run(f"delivery_{name}", unit)

    def _change(self, tx: Tx, name: str, *bindings: Any) -> None:
        tx.must(
            _SQL[name],
            *bindings,
            error=GuardFailed(f"delivery {bindings[0]} cannot become {name} in its current state"),
        )

    async def _content(self, db: Reads, body: int | None, *, owner: str) -> bytes | None:
        """Return a body; one that cannot be decrypted must not block its platform."""
        if body is None:
            return None
        try:
            return await self._engine.sealer.get(db, body, owner=owner)
        except StoreError as error:
            _log.error("body_does_not_open", body=body, problem=str(error))
            return None

    async def _more(self, db: Reads, delivery_id: str) -> tuple[str | None, ...]:
        return tuple(row[0] for row in await db.rows(_SQL["more"], delivery_id))

    async def record(self, db: Reads, row: Row) -> DeliveryRecord:
        """Convert a row of the outbox into a delivery, decrypting its body."""
        content = await self._content(db, row[5], owner=row[3])
        return DeliveryRecord(
            id=row[0],
            seq=row[1],
            message_id=row[2],
            person_id=row[3],
            target=_decode_target(row[4]),
            parts=None if content is None else _decode(content).parts,
            state=DeliveryState(row[6]),
            purpose=row[7],
            platform_message_id=row[8],
            chunk=row[9],
            attempts=row[10],
            next_at=row[11],
            created_at=row[12],
            sending_at=row[13],
            failure=row[14],
            more=await self._more(db, row[0]) if row[15] else (),
            fresh=bool(row[16]),
            failed=row[17],
            story=await self.stories.read(db, row[3], row[18], delivery_id=row[0]),
            ended_at=row[19],
            stopped_by=row[20],
            most=row[21],
            vanish_s=row[22],
        )
