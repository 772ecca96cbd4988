"""Opens previews on connected platforms, if the platform can show them and the operator wants it.

Implements `ports.upward.Previewer`. It also shows the typing indicator of a running turn.
"""

import asyncio
import zlib
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Literal, Self

import structlog

from hermes.errors import DeliveryError, DeliveryRejected
from hermes.message.markup.conversion import converted
from hermes.message.outcome import DeliveryState
from hermes.outbox.alarm import Sleep
from hermes.outbox.channel_calls import ChannelCalls, LongReplies
from hermes.outbox.edit_loop import EditLoop
from hermes.outbox.intervals import PreviewTiming
from hermes.outbox.live_previews import LivePreviews
from hermes.outbox.preview import EditPreview, can_continue
from hermes.outbox.rates import RateGate, Rates
from hermes.outbox.traffic import Traffic
from hermes.ports.channel import PushChannel, Target
from hermes.ports.clock import Clock
from hermes.ports.outbox import NewDelivery, OutboxStore
from hermes.ports.steps import Lease
from hermes.ports.upward import Preview

Wanted = Literal["auto", "edit", "draft", "off"]
Transport = Literal["edit", "draft", "off"]


class NoPreview:
    """A preview that shows nothing."""

    async def update(self, text: str) -> None:
        """Show nothing."""

    async def close(self) -> None:
        """Do nothing."""


class OutboxPreviewer:
    """Opens previews; `channels` holds the connected platforms, and may change.

    `delivery_id` returns the id of a message's reply, the same that the commit will use. `wanted`
    says what the operator wants on a platform. Rates and live previews are shared with the senders.
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
        wanted: Callable[[str], Wanted] = lambda _platform: "auto",
        rates: Rates | None = None,
        screens: LivePreviews | None = None,
        traffic: Traffic | None = None,
        long: LongReplies | None = None,
    ) -> None:
        self._channels = channels
        self._store = store
        self._delivery_id = delivery_id
        self._timing = timing
        self._clock = clock
        self._sleep = sleep
        self._wanted = wanted
        self._rates = rates or Rates(clock)
        self._screens = screens or LivePreviews()
        self._traffic = traffic
        self._long = long
        # By platform; a channel that connects again is another one.
        self._wires: dict[str, ChannelCalls] = {}

    def can_preview(self, target: Target) -> bool:
        """Return whether the target's platform shows previews."""
        channel = self._channels.get(target.platform)
        return channel is not None and self._transport(channel, target) != "off"

    def working(self, target: Target) -> AbstractAsyncContextManager[object]:
        """Return a context manager that shows a typing indicator, if the platform can."""
        channel = self._channels.get(target.platform)
        if channel is None:
            return NOT_TYPING
        wire = self._wire(channel)
        if not wire.can_type:
            return NOT_TYPING
        return TypingIndicator(wire, target, rates=self._rates.of(channel), sleep=self._sleep)

    async def open(
        self, lease: Lease, *, target: Target, message_id: str, person_id: str
    ) -> Preview:
        """Open the preview of a message's reply, or continue it on resume."""
        channel = self._channels.get(target.platform)
        transport = "off" if channel is None else self._transport(channel, target)
        if channel is None or transport == "off":
            return NoPreview()
        name = self._delivery_id(message_id)
        if transport == "draft":
            return self._draft(channel, target, name=name)
        new = NewDelivery(id=name, target=target, parts=None, state=DeliveryState.PREVIEW)
        record = await self._store.open_preview(
            lease, new, message_id=message_id, person_id=person_id
        )
        wire = self._wire(channel)
        if not can_continue(record, wire):
            return NoPreview()
        return EditPreview(
            lease,
            record,
            wire=wire,
            store=self._store,
            screen=self._screens.open(record.id),
            rates=self._rates.of(channel),
            timing=self._timing,
            clock=self._clock,
            sleep=self._sleep,
        )

    def _transport(self, channel: PushChannel, target: Target) -> Transport:
        wanted = self._wanted(target.platform)
        # Drafts are visible to one person; a group sees the message grow.
        if wanted in ("auto", "draft") and not target.group and self._wire(channel).can_draft:
            return "draft"
        return "edit" if channel.capabilities.edit and wanted != "off" else "off"

    def _draft(self, channel: PushChannel, target: Target, *, name: str) -> Preview:
        show = EditLoop(
            DraftDisplay(self._wire(channel), target, draft_id=draft_id(name)),
            target,
            name=name,
            rates=self._rates.of(channel),
            timing=self._timing,
            clock=self._clock,
            sleep=self._sleep,
        )
        return DraftPreview(show)

    def _wire(self, channel: PushChannel) -> ChannelCalls:
        wire = self._wires.get(channel.name)
        if wire is None or not wire.belongs_to(channel):
            limit_s = self._timing.send_timeout_s
            wire = ChannelCalls(channel, timeout_s=limit_s, traffic=self._traffic, long=self._long)
            self._wires[channel.name] = wire
        return wire


# Platforms accept signed 32-bit ids, and 0 means none.
_IDS = 0x7FFFFFFF


class DraftDisplay:
    """Shows a draft; implements `edit_loop.Display`."""

    def __init__(self, wire: ChannelCalls, target: Target, *, draft_id: int) -> None:
        self._wire = wire
        self._target = target
        self._draft_id = draft_id
        # The text with which the reply had as many messages as it may have.
        self._full = ""

    def wanted(self, text: str) -> str:
        """Return the text as it is; empty if the draft would be blank."""
        return self._full or (text if text.strip() else "")

    async def show(self, text: str) -> bool:
        """Replace the draft. It is always one message: the last of the reply so far."""
        shown = await converted(lambda: self._wire.shown(text), chars=len(text))
        if shown.is_cut:
            self._full = text
        last = shown.texts[-1]
        await self._wire.draft(self._target, self._draft_id, text=last)
        return True

    def can_try_again(self, error: DeliveryError) -> bool:
        """Return True: the next draft replaces a failed one."""
        return True


class DraftPreview:
    """One reply shown as a draft; implements `ports.upward.Preview`."""

    def __init__(self, show: EditLoop) -> None:
        self._show = show

    async def update(self, text: str) -> None:
        """Show the text so far as soon as the rate allows; return at once."""
        self._show.update(text)

    async def close(self) -> None:
        """Stop showing."""
        await self._show.close()


def draft_id(delivery_id: str) -> int:
    """Return the number of a delivery's draft; it is the same after a restart."""
    return zlib.crc32(delivery_id.encode()) & _IDS or 1


log = structlog.get_logger(__name__)

# Platforms show it for five seconds or more; an immediate answer needs none.
EVERY_S = 4.5
FIRST_S = 0.7


class TypingIndicator:
    """A typing indicator, repeated until its block ends; for `Previewer.working`."""

    def __init__(
        self, wire: ChannelCalls, target: Target, *, rates: RateGate, sleep: Sleep
    ) -> None:
        self._wire = wire
        self._target = target
        self._rates = rates
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._repeat(), name="typing")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _repeat(self) -> None:
        await self._sleep(FIRST_S)
        while True:
            if not self._rates.is_held(self._target):
                try:
                    await self._wire.typing(self._target)
                except DeliveryRejected as error:
                    log.info("typing.given_up", failure=error.failure)
                    return
                except DeliveryError as error:
                    self._rates.failed(self._target, error)
            await self._sleep(EVERY_S)


class NoTypingIndicator:
    """Shows no typing indicator."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


NOT_TYPING = NoTypingIndicator()
