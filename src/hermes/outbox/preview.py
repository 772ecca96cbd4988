"""Shows a reply while it is being written, by sending it once and editing it.

Between the running turn and the channel. The row is on disk before the first send, the platform's
id before the first edit; edits are not journaled. Nothing here fails a turn: a preview that
cannot be shown is given up, and the commit's final reply goes out all the same.
"""

import asyncio
from collections.abc import Callable, Mapping

import structlog

from hermes.errors import (
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    GuardFailed,
    NotDelivered,
    StoreError,
    TryLater,
)
from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.outbox.alarm import Alarm, Sleep
from hermes.outbox.chunking import split
from hermes.outbox.outgoing import preview_key
from hermes.outbox.pace import Pace, after_show, after_strike, wait_for
from hermes.outbox.timing import PreviewTiming
from hermes.outbox.wire import Wire
from hermes.ports.channel import Delivery, PushChannel, Receipt, Target
from hermes.ports.clock import Clock
from hermes.ports.records import DeliveryRecord, Lease, NewDelivery
from hermes.ports.store import OutboxStore
from hermes.ports.upward import Preview

log = structlog.get_logger(__name__)


class NoPreview:
    """A preview that shows nothing."""

    async def update(self, text: str) -> None:
        """Show nothing."""

    async def close(self) -> None:
        """Nothing to close."""


class EditPreview:
    """One reply being shown; fits `ports.upward.Preview`."""

    def __init__(
        self,
        lease: Lease,
        record: DeliveryRecord,
        *,
        wire: Wire,
        store: OutboxStore,
        timing: PreviewTiming,
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        self._lease = lease
        self._record = record
        self._wire = wire
        self._store = store
        self._timing = timing
        self._clock = clock
        self._sleep = sleep
        self._alarm = Alarm(sleep)
        self._pace = Pace(interval_s=timing.interval_s)
        self._standing = record.platform_message_id
        # After a crash, or a lost answer, the first send may have arrived.
        self._is_unknown = record.state is DeliveryState.UNKNOWN
        self._in_doubt = self._is_unknown
        self._wanted = ""
        self._shown = ""
        self._done = False
        self._task: asyncio.Task[None] | None = None

    async def update(self, text: str) -> None:
        """Show the text so far, as soon as the pace allows; returns at once."""
        self._wanted = text
        if self._task is None and not self._done:
            self._task = asyncio.create_task(self._run(), name=f"preview:{self._record.id}")
        self._alarm.ring()

    async def close(self) -> None:
        """Show no more; waits for the call on the wire, so that it cannot overtake the reply."""
        self._done = True
        self._alarm.ring()
        if self._task is None:
            return
        await asyncio.wait({self._task}, timeout=self._timing.close_wait_s)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None
        while self._in_doubt and self._standing is None and not self._is_unknown:
            await self._admit_doubt()

    async def _admit_doubt(self) -> None:
        """Write that a message may stand that nobody has the id of, before the commit moves on."""
        try:
            await self._store.unknown(self._record.id, at=self._clock.now())
        except GuardFailed:
            log.warning("preview.row_moved", **self._names())
        except (StoreError, TryLater) as error:
            log.warning("preview.store_busy", error=error.code, **self._names())
            await self._sleep(self._timing.store_pause_s)
            return
        self._is_unknown = True

    async def _run(self) -> None:
        try:
            while not self._done:
                await self._alarm.wait(await self._tick())
        # Boundary: the preview's own task; the turn goes on without it.
        except Exception:
            log.exception("preview.failed", **self._names())

    async def _tick(self) -> float:
        """Show what is new if it is time; returns how long to wait."""
        text = self._visible()
        if not text or text == self._shown:
            return self._timing.idle_poll_s
        new_chars = abs(len(text) - len(self._shown))
        now = self._clock.now()
        wait = wait_for(self._pace, now, new_chars=new_chars, timing=self._timing)
        if wait > 0:
            return wait
        await self._try_to_show(text)
        return 0.0

    def _visible(self) -> str:
        room = self._wire.capabilities.max_chars - len(self._timing.cursor)
        chunks = split(self._wanted, limit=max(1, room))
        return chunks[0] if chunks else ""

    async def _try_to_show(self, text: str) -> None:
        try:
            await self._show(text)
        except DeliveryRejected as error:
            self._give_up(error.failure)
        except DeliveryError as error:
            self._strike(error)
        except (StoreError, TryLater) as error:
            self._give_up(error.code)
        else:
            self._shown = text
            self._pace = after_show(self._pace, self._clock.now())

    async def _show(self, text: str) -> None:
        with_cursor = text + self._timing.cursor
        if self._standing is None:
            await self._send_first(with_cursor)
        else:
            target = self._record.target
            await self._wire.edit(target, self._standing, text=with_cursor)

    async def _send_first(self, text: str) -> None:
        key = preview_key(self._record.id)
        target = self._record.target
        receipt = None
        takes_key = self._wire.capabilities.key_window_s > 0
        if self._in_doubt and not takes_key:
            receipt = await self._wire.find(target, key)
        if receipt is None:
            delivery = Delivery(id=self._record.id, target=target, parts=(TextPart(text),), key=key)
            receipt = await self._send(delivery)
        standing = receipt.platform_message_id
        await self._store.preview_sent(self._lease, self._record.id, platform_message_id=standing)
        self._standing = standing

    async def _send(self, delivery: Delivery) -> Receipt:
        """Send, in doubt from the first byte until the platform has said yes or no."""
        before, self._in_doubt = self._in_doubt, True
        try:
            return await self._wire.send(delivery)
        except (NotDelivered, DeliveryRejected):
            self._in_doubt = before
            raise

    def _strike(self, error: DeliveryError) -> None:
        is_lost = isinstance(error, DeliveryUnknown) and self._standing is None
        if is_lost and not can_find_again(self._wire):
            self._give_up(error.failure)
            return
        self._pace = after_strike(self._pace, self._clock.now(), retry_after=error.retry_after)
        if self._pace.strikes >= self._timing.max_strikes:
            self._give_up(error.failure)

    def _give_up(self, reason: str) -> None:
        self._done = True
        log.info("preview.given_up", reason=str(reason), **self._names())

    def _names(self) -> dict[str, str]:
        return {"delivery": self._record.id, "message": self._record.message_id}


class OutboxPreviewer:
    """Opens previews on connected platforms that can edit; fits `ports.upward.Previewer`.

    `channels` holds the push channels whose connect has returned, by platform; it may grow.
    `delivery_id` names the reply of a message, as the turn's commit will name it too.
    """

    def __init__(
        self,
        channels: Mapping[str, PushChannel],
        store: OutboxStore,
        *,
        delivery_id: Callable[[str], str],
        timing: PreviewTiming,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._channels = channels
        self._store = store
        self._delivery_id = delivery_id
        self._timing = timing
        self._clock = clock
        self._sleep = sleep

    def can_preview(self, target: Target) -> bool:
        """Tell whether the target's platform shows previews."""
        channel = self._channels.get(target.platform)
        return channel is not None and channel.capabilities.edit

    async def open(
        self, lease: Lease, *, target: Target, message_id: str, person_id: str
    ) -> Preview:
        """Open (or, on resume, continue) the preview of a message's reply."""
        channel = self._channels.get(target.platform)
        if channel is None or not channel.capabilities.edit:
            return NoPreview()
        new = NewDelivery(
            id=self._delivery_id(message_id),
            target=target,
            parts=None,
            state=DeliveryState.PREVIEW,
        )
        record = await self._store.open_preview(
            lease, new, message_id=message_id, person_id=person_id
        )
        wire = Wire(channel, timeout_s=self._timing.send_timeout_s)
        if not _can_continue(record, wire):
            return NoPreview()
        return EditPreview(
            lease,
            record,
            wire=wire,
            store=self._store,
            timing=self._timing,
            clock=self._clock,
            sleep=self._sleep,
        )


def can_find_again(wire: Wire) -> bool:
    """Tell whether a send whose answer was lost can be found: by its key or in the history."""
    return wire.capabilities.key_window_s > 0 or wire.capabilities.history


def _can_continue(record: DeliveryRecord, wire: Wire) -> bool:
    if record.state is DeliveryState.UNKNOWN and record.platform_message_id is None:
        return can_find_again(wire)
    return record.state in {DeliveryState.PREVIEW, DeliveryState.UNKNOWN}
