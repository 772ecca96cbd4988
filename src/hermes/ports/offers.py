"""Answers that are shown as buttons, and what happens to messages after they were posted.

The value on a button is a reference to an offer, and says nothing: the store knows what it stands for,
who may press it and until when. An offer is used once.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from hermes.message.event import MessageEvent
from hermes.ports.channel import Target

# How an offer ended: by a press, by the decision about what it asks for, or because its time was up.
OfferEnd = Literal["chosen", "approved", "denied", "expired"]


# What became of a reaction that came early: its message is known by now, it is kept, or nothing is known
# that it could be about.
KeptReaction = Literal["posted", "kept", "unknown"]


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """An offer as the store knows it: where it was made, and which message pressed it.

    `says` is None once its person was erased. Its delivery `is_posted` once the platform's id of the
    message is known, and `is_fresh` if it was sent as a new message instead of an edit.
    """

    id: str
    platform: str
    chat_id: str
    lane: str
    who: str
    says: tuple[str, ...] | None
    expires_at: float
    subject: str | None = None
    chosen_by: str | None = None
    delivery: str = ""
    is_posted: bool = True
    is_fresh: bool = False


class PostChange(msgspec.Struct, frozen=True, kw_only=True):
    """What is to happen to a message that is posted: it shows how its question ended, or it is deleted.

    `text` is what it says, and `chosen` the answer that was pressed, if one was. `is_repeat` says that it
    was sent as a possible repeat.
    """

    delivery: str
    message_id: str
    target: Target
    platform_message_id: str
    kind: Literal["end", "delete"]
    offer: str = ""
    text: str = ""
    ended: OfferEnd | None = None
    chosen: str = ""
    is_repeat: bool = False


class PostedDelivery(msgspec.Struct, frozen=True):
    """A delivery that a posted message belongs to, the message that it answers, and what it asks for."""

    delivery: str
    message_id: str
    purpose: str
    approval: str | None = None


class OfferStore(Protocol):
    """Offers, and messages that are posted."""

    async def posted(
        self, platform: str, chat_id: str, platform_message_id: str
    ) -> PostedDelivery | None:
        """Return what a posted message belongs to, by the platform's id of it."""
        ...

    async def keep_reaction(
        self, event: MessageEvent, platform_message_id: str, *, at: float, most: int
    ) -> KeptReaction:
        """Store a reaction to a message that is not known to be posted, if one may be in its chat.

        The `most` newest are kept.
        """
        ...

    async def early_reactions(self, *, limit: int) -> tuple[tuple[str, MessageEvent | None], ...]:
        """Return reactions of which the message is known now, with their names; None for erased ones."""
        ...

    async def drop_reactions(self, names: Sequence[str], *, before: float) -> None:
        """Forget reactions that were handed on, and those that came before then."""
        ...

    async def get(self, offer_id: str) -> Offer | None:
        """Return one offer."""
        ...

    async def changes(self, platform: str, now: float, *, limit: int) -> tuple[PostChange, ...]:
        """Return which messages of a platform are to be changed now."""
        ...

    async def changed(self, change: PostChange) -> None:
        """Say that a message was changed, or that it is left as it is."""
        ...
