"""The outbox's only way to call a channel: each call has a timeout and a failpoint.

Every exception of a channel becomes a `DeliveryError`. If a call ends in any other way, its effect
is unknown.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import msgspec
import structlog

from hermes import failpoints
from hermes.errors import (
    DeliveryError,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    HermesError,
    NotDelivered,
)
from hermes.message.parts import FilePart, Part, text_of
from hermes.message.thoughts import spoken
from hermes.outbox.chunk_sends import (
    FILE_MIME,
    FILE_NAME,
    Chunk,
    ReplyLimits,
    ShownText,
    chunks_of,
    is_whole_reply,
    shown_text,
)
from hermes.outbox.chunks import MEASURES
from hermes.outbox.traffic import Traffic
from hermes.ports.channel import (
    Capabilities,
    DeletingChannel,
    Delivery,
    DraftChannel,
    EditingChannel,
    FindingChannel,
    MeasuringChannel,
    PushChannel,
    ReactingChannel,
    ReactionName,
    Receipt,
    Target,
    TypingChannel,
)
from hermes.ports.media import MediaOwner, ReplyFiles
from hermes.ports.outbox import DeliveryRecord

log = structlog.get_logger(__name__)

# A channel's own timeout, which knows more, should fire first.
_GRACE_S = 5.0

# The text of an unneeded message that cannot be deleted.
NOTHING = "…"

Answer = TypeVar("Answer")


class LongReplies(msgspec.Struct, frozen=True):
    """How many messages the text of a reply may be (0: any number), and who keeps the file of a longer one."""

    max_messages: int = 0
    files: ReplyFiles | None = None


class ChannelCalls:
    """The calls of one push channel."""

    def __init__(
        self,
        channel: PushChannel,
        *,
        timeout_s: float,
        traffic: Traffic | None = None,
        long: LongReplies | None = None,
    ) -> None:
        self._channel = channel
        self._long = long or LongReplies()
        self._limit_s = max(timeout_s, channel.capabilities.send_s) + _GRACE_S
        self._traffic = traffic
        # Found out once: asking a protocol costs as much as formatting a short message.
        self._measuring = channel if isinstance(channel, MeasuringChannel) else None
        self._typing = channel if isinstance(channel, TypingChannel) else None
        self._editing = channel if isinstance(channel, EditingChannel) else None
        self._finding = channel if isinstance(channel, FindingChannel) else None
        self._drafting = channel if isinstance(channel, DraftChannel) else None

    @property
    def platform(self) -> str:
        """The platform's name."""
        return self._channel.name

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        return self._channel.capabilities

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message."""
        async with failpoints.outside("channel.send"):
            receipt = await self._bounded(self._channel.send(delivery), "send")
        self._went()
        return receipt

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message."""
        if self._editing is None:
            raise self._unable("edit")
        async with failpoints.outside("channel.edit"):
            await self._bounded(self._editing.edit(target, platform_message_id, text=text), "edit")
        self._went()

    async def find(self, target: Target, key: str) -> Receipt | None:
        """Look a message up in the platform's history."""
        if self._finding is None:
            raise self._unable("find")
        async with failpoints.outside("channel.find"):
            return await self._bounded(self._finding.find(target, key), "find")

    def measure(self, text: str) -> int:
        """Return how long a Markdown text is on the wire, in the unit of `max_chars`."""
        by_unit = MEASURES[self.capabilities.unit]
        if self._measuring is None:
            return by_unit(text)
        try:
            return self._measuring.measure(text)
        # Boundary: a fault inside a channel must not block all its deliveries.
        except Exception:
            log.exception("outbox.channel_fault", platform=self.platform, verb="measure")
            return by_unit(text)

    @property
    def max_messages(self) -> int:
        """How many messages the text of a reply may be here; 0 is any number."""
        return self._long.max_messages

    def chunks(self, parts: tuple[Part, ...], *, most: int | None = None) -> tuple[Chunk, ...]:
        """Return the messages that make up a reply here, without the model's thoughts.

        Its text is at most `most` messages, or as many as are allowed now; 0 is any number. The
        platform's own limit counts anyway.
        """
        able = self.capabilities
        # An edit replaces the text: attachments would be lost.
        together = able.media_bytes if able.attaches_with_text and not able.edit else 0
        return chunks_of(spoken(parts), self._limits(most), together=together)

    def shown(self, text: str) -> ShownText:
        """Return the messages that a text alone is split into here."""
        return shown_text(text, self._limits())

    def _limits(self, most: int | None = None) -> ReplyLimits:
        able, long = self.capabilities, self._long
        counts = [able.max_messages, long.max_messages if most is None else most]
        takes_files = long.files is not None and "file" in able.media
        return ReplyLimits(
            max_chars=able.max_chars,
            measure=self.measure,
            most=min(filter(None, counts), default=0),
            file_bytes=able.media_bytes if takes_files else 0,
            buttons=able.buttons,
        )

    async def with_file(self, delivery: Delivery, record: DeliveryRecord) -> Delivery:
        """Return a send whose file with the whole reply, if it has one, is kept to be read."""
        if self._long.files is None or not any(map(is_whole_reply, delivery.parts)):
            return delivery
        text = text_of(spoken(record.parts or ()))
        try:
            kept = await self._long.files.put(
                text.encode("utf-8", "replace"),
                owner=MediaOwner(record.person_id, record.message_id),
                name=FILE_NAME,
                is_checked=False,
            )
        except (HermesError, OSError) as error:
            raise NotDelivered(
                f"{self.platform}: the file with the whole reply could not be made: {error}",
                FailureClass.SERVICE_UNAVAILABLE,
            ) from error
        file = FilePart(msgspec.structs.replace(kept, mime=FILE_MIME))
        parts = tuple(file if is_whole_reply(part) else part for part in delivery.parts)
        return msgspec.structs.replace(delivery, parts=parts)

    @property
    def can_type(self) -> bool:
        """Whether the platform shows a typing indicator."""
        return self._typing is not None and self.capabilities.typing

    @property
    def can_draft(self) -> bool:
        """Whether the platform shows drafts."""
        return self._drafting is not None and self.capabilities.draft

    def belongs_to(self, channel: PushChannel) -> bool:
        """Return whether these are the calls of a channel."""
        return self._channel is channel

    @property
    def channel(self) -> PushChannel:
        """The channel itself."""
        return self._channel

    async def react(self, target: Target, platform_message_id: str, name: ReactionName) -> None:
        """React to a message, if the platform can."""
        if isinstance(self._channel, ReactingChannel):
            call = self._channel.react(target, platform_message_id, name)
            await self._bounded(call, "react")

    @property
    def can_delete(self) -> bool:
        """Whether a message can be deleted."""
        return self.capabilities.delete and isinstance(self._channel, DeletingChannel)

    async def take_back(self, target: Target, platform_message_id: str) -> None:
        """Delete a message; blank it if the platform cannot delete."""
        if not self.can_delete:
            await self.edit(target, platform_message_id, text=NOTHING)
        elif isinstance(self._channel, DeletingChannel):
            await self._bounded(self._channel.delete(target, platform_message_id), "delete")

    async def typing(self, target: Target) -> None:
        """Show a typing indicator, if the platform can."""
        if self._typing is not None:
            await self._bounded(self._typing.typing(target), "typing")

    async def draft(self, target: Target, draft_id: int, *, text: str) -> None:
        """Show a reply while it is being written, if the platform can."""
        if self._drafting is not None:
            await self._bounded(self._drafting.draft(target, draft_id, text=text), "draft")

    def _unable(self, verb: str) -> DeliveryRejected:
        return DeliveryRejected(
            f"{self.platform}: its manifest declares what needs {verb}(), and the channel has none",
            FailureClass.REJECTED,
        )

    def _went(self) -> None:
        if self._traffic is not None:
            self._traffic.went(self.platform)

    async def _bounded(self, call: Awaitable[Answer], verb: str) -> Answer:
        try:
            async with asyncio.timeout(self._limit_s):
                return await call
        except DeliveryError:
            raise
        except TimeoutError as error:
            raise DeliveryUnknown(
                f"{self.platform}: {verb} gave no answer within {self._limit_s:g} s; "
                "the delivery is settled by the platform's policy",
                FailureClass.NETWORK_TIMEOUT,
            ) from error
        # Boundary: a fault inside a channel must not leave its row in `sending` forever.
        except Exception as error:
            log.exception("outbox.channel_fault", platform=self.platform, verb=verb)
            raise DeliveryUnknown(
                f"{self.platform}: {verb} failed inside the channel, expected a DeliveryError, "
                f"found {type(error).__name__}; fix the channel's error mapping",
                FailureClass.SERVICE_UNAVAILABLE,
            ) from error
