"""Makes one attempt at a delivery: marks the row, makes the platform call, writes the result.

The sender passes in the rows; nothing here chooses the next row or waits for a time.
"""

from collections.abc import Awaitable, Callable

import msgspec
import structlog

from hermes.errors import (
    DeliveryError,
    DeliveryRejected,
    FailureClass,
    GuardFailed,
    ReplyClosed,
    StoreError,
    TryLater,
)
from hermes.message.event import ReplyHandle
from hermes.message.markup.conversion import converted
from hermes.message.parts import TextPart, text_of
from hermes.outbox.alarm import Sleep
from hermes.outbox.backoff import (
    Action,
    Again,
    Dead,
    FailedCall,
    Lost,
    Stop,
    decide,
    is_too_old,
)
from hermes.outbox.breaker import BreakerGate, Pass
from hermes.outbox.channel_calls import NOTHING, ChannelCalls
from hermes.outbox.chunk_sends import Chunk, compose, is_whole_reply, key_of, preview_key
from hermes.outbox.delivery_notes import Mask, action_note, failed_note
from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.live_previews import LivePreviews
from hermes.outbox.posted_messages import end_of, is_edit, is_in_doubt, leftovers, posted_id_of
from hermes.outbox.rates import RateGate
from hermes.outbox.reply_handles import ReplyHandles
from hermes.ports.channel import Delivery, Receipt
from hermes.ports.clock import Clock
from hermes.ports.outbox import DeliveryNote, DeliveryRecord, OutboxStore
from hermes.texts.say import speaking

log = structlog.get_logger(__name__)

Chance = Callable[[], float]


class Attempts:
    """Sends the rows of one platform; all chats of the platform share it."""

    def __init__(
        self,
        wire: ChannelCalls,
        store: OutboxStore,
        *,
        gate: BreakerGate,
        rates: RateGate,
        screens: LivePreviews,
        timing: OutboxTiming,
        clock: Clock,
        sleep: Sleep,
        chance: Chance,
        mask: Mask = str,
    ) -> None:
        self.wire = wire
        self.store = store
        self.gate = gate
        self.rates = rates
        self._screens = screens
        self.timing = timing
        self.clock = clock
        self._sleep = sleep
        self._chance = chance
        self.mask = mask
        self._handles = ReplyHandles(store, clock=clock)
        self._tries: dict[str, int] = {}
        # Nothing new is sent before this time: the platform refused the channel's credential.
        self.refused_until = 0.0

    async def deliver(self, record: DeliveryRecord) -> Action | None:
        """Send the remaining chunks of a due row; return what stopped it, or None.

        A row that must wait for the rate limit or the breaker stays unchanged.
        """
        # The same language at every attempt: what is added to a text decides where it is split.
        with speaking(record.target.language):
            return await self._deliver(record)

    async def _deliver(self, record: DeliveryRecord) -> Action | None:
        chunks = await self.chunks(record)
        end = end_of(record, chunks)
        ending = self._ending(record, chunks, end)
        if ending is not None:
            return await self.end(record, ending)
        if self._is_stale(record):
            await self.store.fresh(record.id)
            record = msgspec.structs.replace(record, fresh=True)
        while record.chunk < end:
            if is_in_doubt(record):
                await self._mark_sending(record, last=self.is_last(record, chunks))
                return await self.end(record, Lost())
            if self._is_shown(record, chunks):
                record = await self._skip(record, chunks)
                continue
            if not await self.has_slot(record):
                return None
            entry = self.gate.enter(self.clock.now())
            if entry is None:
                return None
            ended = await self._send(record, chunks, entry=entry)
            if ended is not None:
                return await self.end(record, ended[0], note=ended[1])
            record = next_chunk(record)
        self._tries.pop(record.id, None)
        self._screens.close(record.id)
        if end < len(chunks):
            await self._delete_unused(record, chunks[:end])
            return await self.end(record, Stop())
        await self._take_back(record, chunks)
        return None

    def _ending(self, record: DeliveryRecord, chunks: tuple[Chunk, ...], end: int) -> Action | None:
        """Return how a row ends of which nothing is to be sent; None if something is."""
        if end < len(chunks) and record.chunk >= end:
            return Stop()
        reason = self.unsendable(record, chunks)
        return None if reason is None else Dead(reason)

    async def _mark_sending(self, record: DeliveryRecord, *, last: bool) -> None:
        is_stopped = record.stopped_by is not None
        at = self.clock.now()
        most = self.wire.max_messages
        await self.store.sending(
            record.id, chunk=record.chunk, at=at, is_stopped=is_stopped, most=most, last=last
        )

    def _is_stale(self, record: DeliveryRecord) -> bool:
        """Return True if the preview is so old that nobody would notice its last edit."""
        screen = self._screens.of(record.id)
        if screen is None or screen.since is None or record.chunk > 0 or record.fresh:
            return False
        if record.stopped_by is not None:
            return False
        shown_s = self.clock.now() - screen.since
        after_s = self.timing.fresh_after_s
        return self.wire.can_delete and 0 < after_s <= shown_s and record.failure is None

    def _is_shown(self, record: DeliveryRecord, chunks: tuple[Chunk, ...]) -> bool:
        """Return True if the message of the current chunk already shows its final text."""
        chunk = chunks[record.chunk]
        screen = self._screens.of(record.id)
        is_posted = is_edit(record, chunk, capabilities=self.wire.capabilities)
        return is_posted and screen is not None and screen.text(record.chunk) == text_of(chunk)

    async def _skip(self, record: DeliveryRecord, chunks: tuple[Chunk, ...]) -> DeliveryRecord:
        """Write that the current chunk is already posted as it should be; nothing is sent."""
        last = self.is_last(record, chunks)
        await self._mark_sending(record, last=last)
        await self.arrived(record, posted_id_of(record) or "", last=last)
        return next_chunk(record)

    async def _take_back(self, record: DeliveryRecord, chunks: tuple[Chunk, ...]) -> None:
        """Delete the messages that no chunk reuses, and end the row."""
        if not await self._delete_unused(record, chunks):
            return
        at_last = msgspec.structs.replace(record, chunk=len(chunks) - 1)
        await self.keep(record, lambda: self._mark_sending(at_last, last=True))
        await self.arrived(at_last, "", last=True)

    async def _delete_unused(self, record: DeliveryRecord, chunks: tuple[Chunk, ...]) -> bool:
        """Delete the messages that no chunk reuses, if there are any; failures are ignored."""
        left = leftovers(record, chunks)
        for number, message_id in left:
            await self._sleep(self.rates.take(record.target))
            try:
                found = message_id or await self._find(record, number)
                if found is not None:
                    await self.wire.take_back(record.target, found)
            except DeliveryError as error:
                log.warning("outbox.not_taken_back", delivery=record.id, failure=error.failure)
        return bool(left)

    async def has_slot(self, record: DeliveryRecord) -> bool:
        """Take a slot of the rate limit, waiting briefly for it; False if the wait is too long."""
        target = record.target
        if self.rates.wait_s(target) > 0:
            return False
        wait = self.rates.take(target)
        if wait > 0:
            await self._sleep(wait)
        # Meanwhile another call may have been slowed down.
        return not self.rates.is_held(target)

    async def _find(self, record: DeliveryRecord, number: int) -> str | None:
        """Return the id of a message that may have been posted, by its idempotency key."""
        key = preview_key(record.id, number)
        if self.wire.capabilities.key_window_s > 0:
            parts = (TextPart(NOTHING),)
            again = Delivery(id=record.id, target=record.target, parts=parts, key=key)
            return (await self.wire.send(again)).platform_message_id
        if not self.wire.capabilities.history:
            return None
        found = await self.wire.find(record.target, key)
        return None if found is None else found.platform_message_id

    async def chunks(self, record: DeliveryRecord) -> tuple[Chunk, ...]:
        """Return the row's messages; other chats go on while a long text is split."""
        chars = len(text_of(record.parts or ()))
        return await converted(lambda: self._chunks(record), chars=chars)

    def _chunks(self, record: DeliveryRecord) -> tuple[Chunk, ...]:
        """Return the row's messages: of one that was begun, as many as `outbox.max_messages` was then.

        An older Hermes did not keep it. If such a row has all messages already and has not ended, the
        limit was lowered since.
        """
        chunks = self.wire.chunks(record.parts or (), most=record.most)
        is_known = record.most is not None or record.chunk < len(chunks)
        if is_known or leftovers(record, chunks):
            return chunks
        return self.wire.chunks(record.parts or (), most=0)

    def unsendable(self, record: DeliveryRecord, chunks: tuple[Chunk, ...]) -> FailureClass | None:
        """Return why the row must not be sent at all: it is too old, or nothing is left to send."""
        if is_too_old(record, self.clock.now(), timing=self.timing):
            return FailureClass.TOO_OLD
        has_more = record.chunk < len(chunks) or (chunks and leftovers(record, chunks))
        return None if has_more else FailureClass.REJECTED

    async def _send(
        self,
        record: DeliveryRecord,
        chunks: tuple[Chunk, ...],
        *,
        entry: Pass,
    ) -> tuple[Action, DeliveryNote] | None:
        chunk = chunks[record.chunk]
        editing = is_edit(record, chunk, capabilities=self.wire.capabilities)
        try:
            handle = await self.handle_of(record, chunks, entry=entry)
        except ReplyClosed as error:
            return self.closed(record, error, action=Dead(error.failure))
        try:
            sent_as = await self.on_wire(
                record,
                entry,
                call=lambda: self._call(record, chunk, editing=editing, handle=handle),
                last=self.is_last(record, chunks),
            )
        except DeliveryError as error:
            return self._judge(record, error, chunk=chunk, entry=entry, editing=editing)
        await self.arrived(record, sent_as, last=self.is_last(record, chunks))
        return None

    def is_last(self, record: DeliveryRecord, chunks: tuple[Chunk, ...]) -> bool:
        """Return True if the row is finished after its current chunk."""
        return record.chunk + 1 == len(chunks) and not leftovers(record, chunks)

    async def on_wire(
        self,
        record: DeliveryRecord,
        entry: Pass,
        *,
        call: Callable[[], Awaitable[str]],
        last: bool,
    ) -> str:
        """Mark the row as sending, make the call and report the result to the breaker."""
        failed: bool | None = None
        try:
            await self._mark_sending(record, last=last)
            try:
                sent_as = await call()
                failed = False
            except DeliveryError as error:
                # A platform that refuses a call still responds.
                failed = not isinstance(error, DeliveryRejected)
                self.rates.failed(record.target, error)
                if error.credential:
                    self.refused_until = self.clock.now() + self.timing.credential_wait_s
                raise
        finally:
            self.leave(entry, failed=failed)
        return sent_as

    def leave(self, entry: Pass, *, failed: bool | None) -> None:
        """Report the result of a call to the breaker; log it if the breaker opens."""
        before = self.gate.state.open_until
        self.gate.leave(entry, self.clock.now(), failed=failed)
        after = self.gate.state.open_until
        if after is not None and after != before:
            log.warning(
                "outbox.breaker_opened",
                platform=self.wire.platform,
                resets_after_s=self.timing.breaker_open_s,
            )

    async def handle_of(
        self, record: DeliveryRecord, chunks: tuple[Chunk, ...], *, entry: Pass
    ) -> ReplyHandle | None:
        """Return what the send of the row's current chunk must carry; raises `ReplyClosed`."""
        able = self.wire.capabilities
        if not able.takes_handles or is_edit(record, chunks[record.chunk], capabilities=able):
            return None
        is_taken = False
        try:
            handle = await self._handles.take(record, self.wire, key=key_of(record))
            is_taken = True
        finally:
            if not is_taken:
                self.leave(entry, failed=None)
        return handle

    def closed(
        self, record: DeliveryRecord, error: ReplyClosed, *, action: Action
    ) -> tuple[Action, DeliveryNote]:
        """Return how a row ends that the platform takes no more, and the note that says so."""
        now = self.clock.now()
        note = failed_note(record, error, action=action, now=now, mask=self.mask)
        return action, msgspec.structs.replace(note, tried=False)

    async def _call(
        self, record: DeliveryRecord, chunk: Chunk, *, editing: bool, handle: ReplyHandle | None
    ) -> str:
        posted_id = posted_id_of(record)
        if editing and posted_id is not None:
            await self.wire.edit(record.target, posted_id, text=text_of(chunk))
            return posted_id
        return (await self.post_chunk(record, chunk, handle=handle)).platform_message_id

    async def post_chunk(
        self, record: DeliveryRecord, chunk: Chunk, *, handle: ReplyHandle | None
    ) -> Receipt:
        """Send the row's current chunk as a new message."""
        delivery = compose(record, chunk, handle=handle)
        return await self.wire.send(await self.wire.with_file(delivery, record))

    def _judge(
        self,
        record: DeliveryRecord,
        error: DeliveryError,
        *,
        chunk: Chunk,
        entry: Pass,
        editing: bool,
    ) -> tuple[Action, DeliveryNote]:
        tries = self._tries.get(record.id, 0)
        tried = FailedCall(
            tries=tries,
            trial=entry.trial,
            editing=editing,
            is_file=all(map(is_whole_reply, chunk)),
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
        is_in_series = isinstance(action, Again) and not action.counts and not error.credential
        if is_in_series and not entry.trial:
            self._tries[record.id] = tries + 1
        else:
            self._tries.pop(record.id, None)
        note = failed_note(record, error, action=action, now=now, mask=self.mask)
        return action, note

    async def arrived(
        self,
        record: DeliveryRecord,
        sent_as: str,
        *,
        last: bool,
        note: DeliveryNote | None = None,
    ) -> None:
        """Write that the row's current chunk was delivered."""
        await self.keep(
            record,
            lambda: self.store.chunk_sent(
                record.id,
                chunk=record.chunk,
                platform_message_id=sent_as,
                last=last,
                at=self.clock.now(),
                note=note,
            ),
        )
        if last:
            log.info("outbox.sent", delivery=record.id, message=record.message_id)

    async def end(
        self, record: DeliveryRecord, action: Action, *, note: DeliveryNote | None = None
    ) -> Action:
        """Write how a row that was not delivered ends, and return it."""
        told = note or action_note(record, action, now=self.clock.now())
        await self.keep(record, lambda: self._write(record, action, told))
        if not isinstance(action, Again):
            self._tries.pop(record.id, None)
        if isinstance(action, Dead):
            log.warning(
                "outbox.dead",
                delivery=record.id,
                message=record.message_id,
                failure=str(action.failure),
            )
        return action

    async def _write(self, record: DeliveryRecord, action: Action, note: DeliveryNote) -> None:
        now = self.clock.now()
        if isinstance(action, Again):
            await self.store.retry(
                record.id, at=action.at, failure=action.failure, counts=action.counts, note=note
            )
        elif isinstance(action, Dead):
            await self.store.dead(record.id, failure=action.failure, at=now, note=note)
        elif isinstance(action, Stop):
            await self.store.stopped(record.id, at=now, note=note)
        else:
            await self.lose(record, note)

    async def lose(self, record: DeliveryRecord, note: DeliveryNote) -> None:
        """Write that the row may or may not have arrived; the row keeps how it was sent."""
        await self.store.unknown(record.id, at=self.clock.now(), note=note)

    async def keep(self, record: DeliveryRecord, write: Callable[[], Awaitable[None]]) -> None:
        """Write a fact about the outside world; retry until the store has accepted it."""
        while True:
            try:
                await write()
            except GuardFailed:
                # Such as by a platform that has said already that it arrived.
                log.info("outbox.row_moved", delivery=record.id, message=record.message_id)
            except (StoreError, TryLater) as error:
                log.warning("outbox.store_busy", delivery=record.id, error=error.code)
                await self._sleep(self.timing.store_pause_s)
                continue
            return


def next_chunk(record: DeliveryRecord) -> DeliveryRecord:
    """Return the row with its current chunk marked as delivered."""
    return msgspec.structs.replace(record, chunk=record.chunk + 1, failure=None)
