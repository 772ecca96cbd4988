"""The outbox over the store port: deliveries, what is noted of them, and their states."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from hermes.message.event import ReplyHandle
from hermes.message.offer import NewOffer
from hermes.message.outcome import DeliveryState
from hermes.message.parts import Part
from hermes.ports.channel import Target
from hermes.ports.steps import Lease


class NewDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A reply to send; one id from its first preview to its last retry.

    `parts` is None for the turn's own reply, which the commit holds already. `offer` are the answers that
    are shown as buttons with it. After `vanish_s` it is taken back (0: it stays).
    """

    id: str
    target: Target
    parts: tuple[Part, ...] | None
    state: DeliveryState
    purpose: Literal["reply", "tool", "notice"] = "reply"
    offer: NewOffer | None = None
    vanish_s: float = 0.0


class DeliveryNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened to a delivery on its way, such as a send that failed.

    `failure` is its class and `why` what the platform said, without secrets. `then` is what
    follows: again (at once or in seconds), later, waits (for its channel), unknown, repeated,
    resent, found, arrived, not_there, held, again, no_file, stopped, dead, replay, drop or lapsed; `until` is
    when. Where
    nothing was sent, `tried` is false. `chunk` counts the messages of the reply.
    """

    at: float
    failure: str = ""
    why: str = ""
    then: str = ""
    until: float | None = None
    tried: bool = True
    chunk: int = 0


def is_repeat(story: Sequence[DeliveryNote]) -> bool:
    """Return whether a delivery was sent once more although it may have arrived.

    Not if the platform said that it had arrived before that send may have been on the wire.
    """
    last = next((at for at in reversed(range(len(story))) if story[at].then == "repeated"), None)
    if last is None:
        return False
    after = (note.then for note in story[last + 1 :] if note.then in ("unknown", "arrived"))
    return next(after, "") != "arrived"


class DeliveryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the outbox, decrypted; `parts` is None once the person was erased.

    `attempts` are the series of tries that are used up, `failed` all sends that failed; the last of
    them, and what else happened, are its `story`.

    `platform_message_id` and `more` are the messages that show the reply while it is written, one
    for each of its chunks; None where one may stand whose id is not known. `fresh` is set once the
    whole reply is sent again in their place. `stopped_by` is the message with which the person
    stopped it: no message is added to those that are posted.
    """

    id: str
    seq: int
    message_id: str
    person_id: str
    target: Target
    parts: tuple[Part, ...] | None
    state: DeliveryState
    purpose: str
    platform_message_id: str | None
    chunk: int
    attempts: int
    next_at: float
    created_at: float
    sending_at: float | None = None
    failure: str | None = None
    more: tuple[str | None, ...] = ()
    fresh: bool = False
    failed: int = 0
    story: tuple[DeliveryNote, ...] = ()
    ended_at: float | None = None
    stopped_by: str | None = None
    most: int | None = None
    vanish_s: float = 0.0


class HandleUse(msgspec.Struct, frozen=True, kw_only=True):
    """The reply handle of a message, and which use of it a send is (0: it has none left)."""

    handle: ReplyHandle
    number: int
    received_at: float


class OutboxStore(Protocol):
    """Replies on their way out."""

    async def open_preview(
        self, lease: Lease, delivery: NewDelivery, *, message_id: str, person_id: str
    ) -> DeliveryRecord:
        """Write a preview row before its first send; return the standing row on resume."""
        ...

    async def preview_sent(
        self, lease: Lease, delivery_id: str, *, platform_message_id: str, number: int = 0
    ) -> None:
        """Keep the platform's id of a preview's message before any edit."""
        ...

    async def preview_opens(
        self, lease: Lease, delivery_id: str, *, number: int, is_sent: bool = True
    ) -> None:
        """Write that a preview's message `number` (from 1) may stand, or certainly does not."""
        ...

    async def fresh(self, delivery_id: str) -> None:
        """Send the whole reply again; the messages that showed it are deleted afterwards."""
        ...

    async def is_shown(self, delivery_id: str) -> bool:
        """Return whether a preview is known to be posted on its platform."""
        ...

    async def due(
        self, platform: str, now: float, *, limit: int, at_most_s: float = 1e9
    ) -> tuple[DeliveryRecord, ...]:
        """Return in order what may be sent; more than `at_most_s` away the clock was set back."""
        ...

    async def next_due_at(self, platform: str) -> float | None:
        """Return when the next waiting delivery of a platform becomes due."""
        ...

    async def sent_since(
        self, platform: str, since: float, *, limit: int
    ) -> tuple[tuple[str, float], ...]:
        """Return the chats and times of the last messages sent to a platform, the oldest first.

        Of a reply of several messages, each counts with the time of the last one.
        """
        ...

    async def use_handle(self, delivery_id: str, *, key: str, most: int) -> HandleUse | None:
        """Count a send under `key` as a use of its message's reply handle; None if it has no handle.

        The same key again is the same use. `most` is the platform's limit of uses (0: none).
        """
        ...

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
        """Mark a chunk as being on the wire, before the wire call.

        `most` is kept with the first, and whether the chunk is the `last`. Raises `GuardFailed` if the person stopped the delivery and the caller does not know it.
        """
        ...

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
        """Mark a chunk as delivered; a `note` is kept in the delivery's story."""
        ...

    async def retry(
        self,
        delivery_id: str,
        *,
        at: float,
        failure: str,
        counts: bool,
        note: DeliveryNote | None = None,
    ) -> None:
        """Put a delivery back to be sent at `at`; `counts` uses up an attempt."""
        ...

    async def unknown(
        self, delivery_id: str, *, at: float, note: DeliveryNote | None = None
    ) -> None:
        """Say that nobody knows whether the delivery arrived."""
        ...

    async def hold(self, delivery_id: str, *, at: float, note: DeliveryNote | None = None) -> None:
        """Leave an `unknown` delivery to the operator."""
        ...

    async def dead(
        self, delivery_id: str, *, failure: str, at: float, note: DeliveryNote | None = None
    ) -> None:
        """Move a delivery to the dead letters."""
        ...

    async def stopped(self, delivery_id: str, *, at: float, note: DeliveryNote) -> None:
        """End a delivery whose person stopped it; what is posted stays."""
        ...

    async def is_sending(self, lane: str, target: Target) -> bool:
        """Return whether a reply of a session is posted in part, or being sent, to a chat."""
        ...

    async def returned(
        self, delivery_id: str, *, platform: str, chunk: int, failure: str, status: str, at: float
    ) -> str | None:
        """Move what came back after it was sent to the dead letters; return the message's id.

        Sent again, it begins with the chunk that came back. None if the platform has no such
        delivery, or it is among the dead letters already.
        """
        ...

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
        """Settle a chunk of which the platform says later that it arrived; return the message's id.

        `is_fresh` if it was sent as a new message, under a key of its own. None if the platform has no
        such delivery on its way, or the chunk is settled already.
        """
        ...

    async def unsettled(self, platform: str) -> tuple[DeliveryRecord, ...]:
        """Return the `unknown` deliveries that policy has not settled."""
        ...

    async def expire(self, before: float, *, served: Sequence[str], at: float) -> int:
        """Let replies older than `before` die on platforms that no sender serves."""
        ...

    async def of_message(self, message_id: str) -> tuple[DeliveryRecord, ...]:
        """Return the deliveries of a message."""
        ...

    async def waiting(self, platform: str | None = None) -> int:
        """Return how many deliveries are not sent, dead or settled."""
        ...
