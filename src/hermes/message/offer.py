"""Answers to show as buttons under a message, and the press of one."""

import msgspec


class NewOffer(msgspec.Struct, frozen=True, kw_only=True):
    """Answers to show under a message; `says` are the words that each of them stands for, in order.

    Only `who` (`platform:user_id`) may press them; empty: whoever may decide about the `subject`, which is
    the approval or question that they answer. A press counts on `lane`, the conversation that asked.
    """

    id: str
    lane: str
    who: str
    says: tuple[str, ...]
    expires_at: float
    subject: str | None = None


class Press(msgspec.Struct, frozen=True):
    """The use of an offer by a message: which of its answers, counted from 0."""

    offer: str
    index: int
