"""Resolves `unknown` deliveries as `unknown_policy` decides.

`attempt.py` made the call whose answer was lost; the sender says when to resolve it.
"""

import msgspec
import structlog

from hermes.errors import DeliveryError, DeliveryRejected, FailureClass, ReplyClosed
from hermes.message.event import ReplyHandle
from hermes.message.parts import choices_of, text_of
from hermes.outbox.attempt import Attempts
from hermes.outbox.backoff import Action, Again, Dead, Lost, Stop
from hermes.outbox.breaker import Pass
from hermes.outbox.chunk_sends import Chunk, key_of
from hermes.outbox.delivery_notes import failed_note, settled_note
from hermes.outbox.marks import EDIT_REJECTED, NOT_THERE, POSSIBLE_REPEAT
from hermes.outbox.posted_messages import end_of, is_in_doubt, posted_id_of
from hermes.outbox.unknown_policy import Settlement, resend_delay, settle
from hermes.ports.channel import Receipt
from hermes.ports.outbox import DeliveryNote, DeliveryRecord

log = structlog.get_logger(__name__)


class _EditRefused(DeliveryRejected):
    """The message is posted, but it may show only a preview and cannot be edited."""


class UnknownWorker:
    """Looks up, resends or holds the unknown deliveries of one platform."""

    def __init__(self, attempts: Attempts) -> None:
        self._attempts = attempts
        self._tries: dict[str, int] = {}

    def choose(self, record: DeliveryRecord) -> Settlement:
        """Return how the row would be resolved now."""
        return settle(
            record,
            self._attempts.wire.capabilities,
            now=self._attempts.clock.now(),
            tries=self._tries.get(record.id, 0),
            timing=self._attempts.timing,
        )

    def first_delay(self, record: DeliveryRecord) -> float:
        """Return how long to wait after the lost answer before resolving the row."""
        timing = self._attempts.timing
        is_look = self.choose(record) is Settlement.LOOK
        usual = timing.look_after_s if is_look else timing.settle_after_s
        return max(usual, self.proof_delay(record))

    def proof_delay(self, record: DeliveryRecord) -> float:
        """Return how long the platform's late word that the message arrived is waited for.

        It is needed only where neither a key nor the history settles the row.
        """
        is_blind = self.choose(record) in (Settlement.MARKED, Settlement.HOLD)
        return self._attempts.wire.capabilities.proof_s if is_blind else 0.0

    async def settle(self, record: DeliveryRecord) -> float | None:
        """Resolve one row; return when to try again, or None if it is resolved."""
        chunks = await self._attempts.chunks(record)
        if record.chunk >= end_of(record, chunks):
            # The person was erased: nothing is left to repeat. Or they want no more of it.
            is_stopped = record.chunk < len(chunks)
            await self._attempts.end(record, Stop() if is_stopped else Dead(FailureClass.REJECTED))
            return None
        choice = self.choose(record)
        log.info("outbox.settling", delivery=record.id, message=record.message_id, how=choice.value)
        again_at: float | None = None
        if choice is Settlement.MARKED:
            await self._back(record, POSSIBLE_REPEAT)
        elif choice is Settlement.HOLD:
            await self._hold(record)
        else:
            again_at = await self._ask_platform(record, choice)
        if again_at is None:
            self._tries.pop(record.id, None)
        return again_at

    async def _hold(self, record: DeliveryRecord, note: DeliveryNote | None = None) -> None:
        attempts = self._attempts
        now = attempts.clock.now()
        told = note or settled_note(record, "held", now=now)
        await attempts.store.hold(record.id, at=now, note=told)
        log.warning("outbox.held", delivery=record.id, message=record.message_id)

    async def _back(
        self, record: DeliveryRecord, failure: str, *, error: DeliveryError | None = None
    ) -> None:
        attempts = self._attempts
        now = attempts.clock.now()
        action = Again(at=now, failure=failure, counts=False, is_mark_new=True)
        note = None if error is None else self._note(record, error, action)
        await attempts.end(record, action, note=note)

    def _note(self, record: DeliveryRecord, error: DeliveryError, action: Action) -> DeliveryNote:
        attempts = self._attempts
        now = attempts.clock.now()
        return failed_note(record, error, action=action, now=now, mask=attempts.mask)

    async def _ask_platform(self, record: DeliveryRecord, choice: Settlement) -> float | None:
        attempts = self._attempts
        now = attempts.clock.now()
        if not await attempts.has_slot(record):
            wait = max(attempts.rates.wait_s(record.target), attempts.timing.settle_after_s)
            return now + wait
        entry = attempts.gate.enter(now)
        if entry is None:
            return max(now, attempts.gate.state.open_until or now) + attempts.timing.settle_after_s
        if choice is Settlement.LOOK:
            return await self._look(record, entry)
        posted_id = posted_id_of(record) if choice is Settlement.EDIT_AGAIN else None
        return await self._repeat(record, entry, posted_id=posted_id)

    async def _look(self, record: DeliveryRecord, entry: Pass) -> float | None:
        attempts = self._attempts
        failed: bool | None = None
        try:
            found = await attempts.wire.find(record.target, key_of(record))
            failed = False
        except DeliveryRejected as error:
            failed = False
            log.warning("outbox.look_refused", delivery=record.id, failure=error.failure)
            if error.credential:
                attempts.refused_until = attempts.clock.now() + attempts.timing.credential_wait_s
                return attempts.clock.now()
            await self._hold(record)
            return None
        except DeliveryError as error:
            failed = True
            log.info("outbox.look_failed", delivery=record.id, failure=error.failure)
            return attempts.clock.now() + attempts.timing.look_again_s
        finally:
            attempts.leave(entry, failed=failed)
        return await self._looked(record, found)

    async def _looked(self, record: DeliveryRecord, found: Receipt | None) -> float | None:
        attempts = self._attempts
        if found is not None:
            posted_id = found.platform_message_id
            return await self._repeat(record, Pass(trial=False), posted_id=posted_id, how="found")
        if not attempts.wire.capabilities.history_whole:
            await self._unproven(record)
            return None
        reason = attempts.unsendable(record, await attempts.chunks(record))
        if reason is not None:
            await attempts.end(record, Dead(reason))
            return None
        not_there = NOT_THERE if is_in_doubt(record) else None
        await self._back(record, not_there or record.failure or FailureClass.NETWORK_TIMEOUT)
        return None

    async def _unproven(self, record: DeliveryRecord) -> None:
        """Resolve a row that was not found where this proves nothing: as without history."""
        attempts = self._attempts
        choice = settle(
            record,
            msgspec.structs.replace(attempts.wire.capabilities, history=False),
            now=attempts.clock.now(),
            tries=self._tries.get(record.id, 0),
            timing=attempts.timing,
        )
        if choice is Settlement.MARKED:
            await self._back(record, POSSIBLE_REPEAT)
        else:
            await self._hold(record)

    async def _repeat(
        self, record: DeliveryRecord, entry: Pass, *, posted_id: str | None, how: str = "resent"
    ) -> float | None:
        attempts = self._attempts
        chunks = await attempts.chunks(record)
        chunk = chunks[record.chunk]
        try:
            handle = None if posted_id else await attempts.handle_of(record, chunks, entry=entry)
        except ReplyClosed as error:
            _, note = attempts.closed(record, error, action=Lost())
            await self._hold(record, msgspec.structs.replace(note, then="held"))
            return None
        try:
            sent_as = await attempts.on_wire(
                record,
                entry,
                call=lambda: self._call(record, chunk, posted_id=posted_id, handle=handle),
                last=attempts.is_last(record, chunks),
            )
        except _EditRefused as error:
            takes_key = attempts.wire.capabilities.key_window_s > 0
            await self._back(record, EDIT_REJECTED if takes_key else POSSIBLE_REPEAT, error=error)
            return None
        except DeliveryRejected as error:
            return await self._refused(record, error)
        except DeliveryError as error:
            return await self._later(record, error)
        note = settled_note(record, how, now=attempts.clock.now())
        last = attempts.is_last(record, chunks)
        await attempts.arrived(record, sent_as, last=last, note=note)
        return None

    async def _refused(self, record: DeliveryRecord, error: DeliveryRejected) -> float | None:
        attempts = self._attempts
        log.warning("outbox.settle_refused", delivery=record.id, failure=error.failure)
        note = self._note(record, error, Lost())
        await attempts.keep(record, lambda: attempts.lose(record, note))
        if error.credential:
            return attempts.clock.now()
        await self._hold(record)
        return None

    async def _call(
        self,
        record: DeliveryRecord,
        chunk: Chunk,
        *,
        posted_id: str | None,
        handle: ReplyHandle | None,
    ) -> str:
        wire = self._attempts.wire
        if posted_id is None:
            receipt = await self._attempts.post_chunk(record, chunk, handle=handle)
            posted_id = receipt.platform_message_id
        # The key may belong to a preview, which shows only the beginning of the reply.
        was_shown = record.chunk == 0 or is_in_doubt(record) or posted_id_of(record) is not None
        # What has buttons was never a preview, and an edit would take them away.
        is_plain = text_of(chunk) and not choices_of(chunk)
        if wire.capabilities.edit and was_shown and is_plain:
            try:
                await wire.edit(record.target, posted_id, text=text_of(chunk))
            except DeliveryRejected as error:
                is_preview = record.sending_at is None or record.platform_message_id is not None
                if error.credential:
                    raise
                if is_preview:
                    raise _EditRefused(str(error), error.failure) from error
        return posted_id

    async def _later(self, record: DeliveryRecord, error: DeliveryError) -> float:
        attempts = self._attempts
        note = self._note(record, error, Lost())
        await attempts.keep(record, lambda: attempts.lose(record, note))
        tries = self._tries.get(record.id, 0) + 1
        self._tries[record.id] = tries
        delay = resend_delay(tries, timing=attempts.timing)
        return attempts.clock.now() + (attempts.timing.settle_after_s if delay is None else delay)
