"""Shows a reply while it is being written, by sending it and editing it.

It sits between the running turn and the channel. The row is on disk before the first send, and the
platform's message id before the first edit; edits are not journaled. A text that outgrows a message
continues in the next one, split as the reply itself will be. Nothing here fails a turn.
"""

from typing import Final

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
from hermes.message.markup.conversion import converted
from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.outbox.alarm import Sleep
from hermes.outbox.channel_calls import ChannelCalls
from hermes.outbox.chunk_sends import preview_key
from hermes.outbox.edit_loop import EditLoop
from hermes.outbox.intervals import PreviewTiming
from hermes.outbox.live_previews import PreviewMessages
from hermes.outbox.rates import RateGate
from hermes.outbox.reply_handles import ReplyHandles
from hermes.ports.channel import Delivery, Receipt
from hermes.ports.clock import Clock
from hermes.ports.outbox import DeliveryRecord, OutboxStore
from hermes.ports.steps import Lease

log = structlog.get_logger(__name__)


class EditPreview:
    """One reply being shown; implements `ports.upward.Preview` and `edit_loop.Display`."""

    def __init__(
        self,
        lease: Lease,
        record: DeliveryRecord,
        *,
        wire: ChannelCalls,
        store: OutboxStore,
        screen: PreviewMessages,
        rates: RateGate,
        timing: PreviewTiming,
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        self._lease = lease
        self._record = record
        self._wire = wire
        self._store = store
        self._screen = screen
        self._timing = timing
        self._clock = clock
        self._handles = ReplyHandles(store, clock=clock)
        self._sleep = sleep
        # The text with which the reply had as many messages as it may have.
        self._full = ""
        first = record.platform_message_id
        self._ids = [] if first is None else [first, *(one for one in record.more if one)]
        # After a crash or a lost answer, a send may have arrived although its id is unknown.
        self._is_unknown = record.state is DeliveryState.UNKNOWN
        # Whether the row says that one more message may be posted.
        self._is_opened = record.more[-1:] == (None,)
        self._in_doubt = self._is_unknown and (first is None or self._is_opened)
        self._show = EditLoop(
            self,
            record.target,
            name=record.id,
            rates=rates,
            timing=timing,
            clock=clock,
            sleep=sleep,
        )

    async def update(self, text: str) -> None:
        """Show the text so far as soon as the rate allows; return at once."""
        self._show.update(text)

    async def close(self) -> None:
        """Stop showing; wait for the call under way, so that it cannot overtake the reply."""
        await self._show.close()
        while self._in_doubt and not self._is_unknown:
            await self._admit_doubt()

    async def _admit_doubt(self) -> None:
        """Before the commit: write that a message may be posted whose id is unknown."""
        try:
            await self._store.unknown(self._record.id, at=self._clock.now())
        except GuardFailed:
            log.warning("preview.row_moved", **self._names())
        except (StoreError, TryLater) as error:
            log.warning("preview.store_busy", error=error.code, **self._names())
            await self._sleep(self._timing.store_pause_s)
            return
        self._is_unknown = True

    def wanted(self, text: str) -> str:
        """Return the text as it is shown; empty if the message would be blank.

        A text that fills as many messages as a reply may have grows no more.
        """
        return self._full or (text if text.strip() else "")

    async def show(self, text: str) -> bool:
        """Send or edit the first message that does not show what it should."""
        shown_text = await converted(lambda: self._wire.shown(text), chars=len(text))
        chunks, is_full = shown_text.texts, shown_text.is_cut
        if is_full:
            self._full = text
        last = len(chunks) - 1
        # When the text is split into messages, an open block is closed in each of them.
        is_open = last > 0 and bool(open_fence(text))
        for number, chunk in enumerate(chunks):
            # A message with another one after it is finished and shows its final text.
            has_cursor = number == last and not is_full
            cursor = self._timing.cursor
            shown = with_cursor(chunk, cursor, is_open=is_open) if has_cursor else chunk
            if self._screen.text(number) != shown:
                await self._put(number, shown)
                return number == last
        return True

    async def _put(self, number: int, text: str) -> None:
        if number < len(self._ids):
            await self._wire.edit(self._record.target, self._ids[number], text=text)
        else:
            await self._send_next(number, text)
        self._screen.put(number, text)
        if self._screen.since is None:
            self._screen.since = self._clock.now()

    async def _send_next(self, number: int, text: str) -> None:
        key = preview_key(self._record.id, number)
        target = self._record.target
        receipt = None
        takes_key = self._wire.capabilities.key_window_s > 0
        if self._in_doubt and not takes_key:
            receipt = await self._wire.find(target, key)
        if receipt is None:
            handle = await self._handles.take(self._record, self._wire, key=key)
            delivery = Delivery(
                id=self._record.id, target=target, parts=(TextPart(text),), key=key, handle=handle
            )
            await self._open(number)
            receipt = await self._send(delivery, number)
        posted_id = receipt.platform_message_id
        await self._store.preview_sent(
            self._lease, self._record.id, platform_message_id=posted_id, number=number
        )
        self._ids.append(posted_id)
        self._is_opened = self._in_doubt = self._is_unknown = False

    async def _open(self, number: int) -> None:
        """Write that one more message may be posted; for the first, the row itself says so."""
        if number > 0 and not self._is_opened:
            await self._store.preview_opens(self._lease, self._record.id, number=number)
            self._is_opened = True

    async def _send(self, delivery: Delivery, number: int) -> Receipt:
        """Send; the row is in doubt from the first byte until the platform has answered."""
        before, self._in_doubt = self._in_doubt, True
        try:
            return await self._wire.send(delivery)
        except (NotDelivered, DeliveryRejected):
            self._in_doubt = before
            if number > 0 and not before:
                self._is_opened = False
                await self._store.preview_opens(
                    self._lease, self._record.id, number=number, is_sent=False
                )
            raise

    def can_try_again(self, error: DeliveryError) -> bool:
        """Return whether a send without an answer can be found again; edits are safe."""
        is_lost = isinstance(error, DeliveryUnknown) and self._in_doubt
        return not is_lost or can_find_again(self._wire)

    def _names(self) -> dict[str, str]:
        return {"delivery": self._record.id, "message": self._record.message_id}


def can_find_again(wire: ChannelCalls) -> bool:
    """Return whether a send without an answer can be found, by its key or in the history."""
    return wire.capabilities.key_window_s > 0 or wire.capabilities.history


def can_continue(record: DeliveryRecord, wire: ChannelCalls) -> bool:
    """Return whether the preview of a row can continue, also after a crash."""
    has_no_id = record.platform_message_id is None or record.more[-1:] == (None,)
    if record.state is DeliveryState.UNKNOWN and has_no_id:
        return can_find_again(wire)
    return record.state in {DeliveryState.PREVIEW, DeliveryState.UNKNOWN}


_MARKS: Final = ("```", "~~~")


def with_cursor(text: str, cursor: str, *, is_open: bool = False) -> str:
    """Return `text` with the cursor at its end, inside a code block that is open there.

    `is_open` says that the block continues in the next message: this message closes it only because
    the next one opens it again.
    """
    head, _, last = text.rpartition("\n")
    fence = open_fence(text)
    if fence:
        return f"{text}{_gap(text, fence)}{cursor}\n{fence}"
    closed = open_fence(head)
    if not closed:
        return text + cursor
    # After the marks, on the same line, the cursor would become part of the code.
    if is_open:
        return f"{head}{_gap(head, closed)}{cursor}\n{last}"
    return f"{text}\n{cursor.lstrip()}"


def _gap(text: str, fence: str) -> str:
    """Return what separates the cursor from the line that opens a block and names its language."""
    return "\n" if text.rpartition("\n")[2].strip().startswith(fence) else ""


def open_fence(text: str) -> str:
    """Return the marks that close the code block open at the end of `text`; empty if none is."""
    fence = ""
    for line in text.split("\n"):
        bare = line.strip()
        if not fence and bare.startswith(_MARKS):
            marks = bare[: len(bare) - len(bare.lstrip(bare[0]))]
            # Backticks after them: inline code, which opens no block.
            fence = "" if "`" in bare[len(marks) :] and marks[0] == "`" else marks
        elif fence and bare.startswith(fence) and not bare.strip(fence[0]):
            fence = ""
    return fence
