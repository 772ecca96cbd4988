"""Does what is decided for one delivery: marks it, makes the wire call, writes what came of it.

The sender hands in rows; nothing here chooses which row is next or waits for a time.
"""

from collections.abc import Awaitable, Callable

import msgspec
import structlog

from hermes.errors import (
    DeliveryError,
    DeliveryRejected,
    FailureClass,
    GuardFailed,
    StoreError,
    TryLater,
)
from hermes.message.parts import text_of
from hermes.outbox.alarm import Sleep
from hermes.outbox.backoff import Action, Again, Dead, Tried, decide, is_too_old
from hermes.outbox.breaker import BreakerGate, Pass
from hermes.outbox.outgoing import Chunk, chunks_of, compose, is_edit
from hermes.outbox.timing import OutboxTiming
from hermes.outbox.wire import Wire
from hermes.ports.clock import Clock
from hermes.ports.records import DeliveryRecord
from hermes.ports.store import OutboxStore

log = structlog.get_logger(__name__)

Chance = Callable[[], float]


class Attempts:
    """Sends the rows of one platform; shared by the chats that are served side by side."""

    def __init__(
        self,
        wire: Wire,
        store: OutboxStore,
        *,
        gate: BreakerGate,
        timing: OutboxTiming,
        clock: Clock,
        sleep: Sleep,
        chance: Chance,
    ) -> None:
        self.wire = wire
        self.store = store
        self.gate = gate
        self.timing = timing
        self.clock = clock
        self._sleep = sleep
        self._chance = chance
        self._tries: dict[str, int] = {}

    async def deliver(self, record: DeliveryRecord) -> Action | None:
        """Send the remaining chunks of a due row; returns what stopped it, if anything did."""
        chunks = self.chunks(record)
        reason = self.unsendable(record, chunks)
        if reason is not None:
            return await self.end(record, Dead(reason))
        while record.chunk < len(chunks):
            entry = self.gate.enter(self.clock.now())
            if entry is None:
                return None
            action = await self._send(record, chunks, entry=entry)
            if action is not None:
                return await self.end(record, action)
            record = next_chunk(record)
        self._tries.pop(record.id, None)
        return None

    def chunks(self, record: DeliveryRecord) -> tuple[Chunk, ...]:
        """Return the messages that make up the row."""
        return chunks_of(record.parts or (), max_chars=self.wire.capabilities.max_chars)

    def unsendable(self, record: DeliveryRecord, chunks: tuple[Chunk, ...]) -> FailureClass | None:
        """Return why the row must not be sent at all: its age, or nothing (left) to say."""
        if is_too_old(record, self.clock.now(), timing=self.timing):
            return FailureClass.TOO_OLD
        return None if record.chunk < len(chunks) else FailureClass.REJECTED

    async def _send(
        self, record: DeliveryRecord, chunks: tuple[Chunk, ...], *, entry: Pass
    ) -> Action | None:
        chunk = chunks[record.chunk]
        editing = is_edit(record, chunk, capabilities=self.wire.capabilities)
        try:
            sent_as = await self.on_wire(
                record, entry, call=lambda: self._call(record, chunk, editing=editing)
            )
        except DeliveryError as error:
            return self._judge(record, error, entry=entry, editing=editing)
        await self.arrived(record, sent_as, last=record.chunk + 1 == len(chunks))
        return None

    async def on_wire(
        self, record: DeliveryRecord, entry: Pass, *, call: Callable[[], Awaitable[str]]
    ) -> str:
        """Mark the row as sending, make the call and tell the breaker how it went."""
        failed: bool | None = None
        try:
            await self.store.sending(record.id, chunk=record.chunk, at=self.clock.now())
            try:
                sent_as = await call()
                failed = False
            except DeliveryError as error:
                # A platform that says no is a platform that answers.
                failed = not isinstance(error, DeliveryRejected)
                raise
        finally:
            self.leave(entry, failed=failed)
        return sent_as

    def leave(self, entry: Pass, *, failed: bool | None) -> None:
        """Tell the breaker how a call went, and the log if it opens because of it."""
        before = self.gate.state.open_until
        self.gate.leave(entry, self.clock.now(), failed=failed)
        after = self.gate.state.open_until
        if after is not None and after != before:
            log.warning(
                "outbox.breaker_opened",
                platform=self.wire.platform,
                resets_after_s=self.timing.breaker_open_s,
            )

    async def _call(self, record: DeliveryRecord, chunk: Chunk, *, editing: bool) -> str:
        standing = record.platform_message_id
        if editing and standing is not None:
            await self.wire.edit(record.target, standing, text=text_of(chunk))
            return standing
        receipt = await self.wire.send(compose(record, chunk))
        return receipt.platform_message_id

    def _judge(
        self, record: DeliveryRecord, error: DeliveryError, *, entry: Pass, editing: bool
    ) -> Action:
        tries = self._tries.get(record.id, 0)
        tried = Tried(
            tries=tries,
            trial=entry.trial,
            editing=editing,
            open_until=self.gate.state.open_until,
        )
        now = self.clock.now()
        action = decide(
            record, error, now=now, tried=tried, timing=self.timing, chance=self._chance()
        )
        log.info(
            "outbox.send_failed",
            delivery=record.id,
            message=record.message_id,
            chunk=record.chunk,
            failure=error.failure,
            outcome=type(error).__name__,
            then=type(action).__name__,
        )
        if isinstance(action, Again) and not action.counts and not entry.trial:
            self._tries[record.id] = tries + 1
        else:
            self._tries.pop(record.id, None)
        return action

    async def arrived(self, record: DeliveryRecord, sent_as: str, *, last: bool) -> None:
        """Write that the row's current chunk was delivered."""
        await self.keep(
            record,
            lambda: self.store.chunk_sent(
                record.id,
                chunk=record.chunk,
                platform_message_id=sent_as,
                last=last,
                at=self.clock.now(),
            ),
        )
        if last:
            log.info("outbox.sent", delivery=record.id, message=record.message_id)

    async def end(self, record: DeliveryRecord, action: Action) -> Action:
        """Write what becomes of a row that did not go through, and return it."""
        await self.keep(record, lambda: self._write(record, action))
        if isinstance(action, Dead):
            log.warning(
                "outbox.dead",
                delivery=record.id,
                message=record.message_id,
                failure=str(action.failure),
            )
        return action

    async def _write(self, record: DeliveryRecord, action: Action) -> None:
        now = self.clock.now()
        if isinstance(action, Again):
            await self.store.retry(
                record.id, at=action.at, failure=action.failure, counts=action.counts
            )
        elif isinstance(action, Dead):
            await self.store.dead(record.id, failure=action.failure, at=now)
        else:
            await self.lose(record)

    async def lose(self, record: DeliveryRecord) -> None:
        """Write that nobody knows whether the row arrived; how it was sent stays on the row."""
        await self.store.unknown(record.id, at=self.clock.now())

    async def keep(self, record: DeliveryRecord, write: Callable[[], Awaitable[None]]) -> None:
        """Write a fact about the outside world, again and again until the store has it."""
        while True:
            try:
                await write()
            except GuardFailed:
                log.warning("outbox.row_moved", delivery=record.id, message=record.message_id)
            except (StoreError, TryLater) as error:
                log.warning("outbox.store_busy", delivery=record.id, error=error.code)
                await self._sleep(self.timing.store_pause_s)
                continue
            return


def next_chunk(record: DeliveryRecord) -> DeliveryRecord:
    """Return the row as it stands after its current chunk has arrived."""
    return msgspec.structs.replace(record, chunk=record.chunk + 1, failure=None)
