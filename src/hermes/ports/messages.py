"""Messages as operators list and filter them: one line for each, without what was said."""

from typing import Literal, Protocol

import msgspec

from hermes.message.outcome import MessageState

# How a message ended; `open` ones have not.
Ending = Literal[
    "open", "answered", "failed", "interrupted", "merged", "expired", "refused", "overheard"
]


class MessageFilter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which messages; what is empty or None is not asked for.

    `agent`, `model` and `least_usd` are known of turns that have ended, so no open message has them.
    """

    person_id: str = ""
    platform: str = ""
    agent: str = ""
    model: str = ""
    outcome: Ending | None = None
    least_usd: float | None = None
    since: float | None = None
    until: float | None = None


class MessageLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message; a `cost_usd` of None is unknown, or nothing was called."""

    id: str
    at: float
    person_id: str
    platform: str
    lane: str
    state: MessageState
    outcome: Ending | None = None
    done_at: float | None = None
    agent: str | None = None
    model: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None


class MessagePage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Some messages, the newest first; `next` is where the next page begins, None after the last.

    How many rows are looked at for a page is bounded. So a page can have few messages, or none,
    although older ones fit: then `searched_to` is the time of the last one that was looked at.
    """

    messages: tuple[MessageLine, ...] = ()
    next: str | None = None
    searched_to: float | None = None


class MessageLister(Protocol):
    """Lists messages. Commands that run beside a turn, such as `/stop`, are not among them."""

    async def page(self, wanted: MessageFilter, *, before: str | None, limit: int) -> MessagePage:
        """Return messages before a place, or the newest; raises `BadRequest` for a wrong place.

        `before` is the `next` of another page of the same filter. Where a clock was set back, a
        message can be missing at the edges of `since` and `until`.
        """
        ...

    async def graph_of(self, message_id: str) -> str | None:
        """Return the name of the graph that the turn of a message is in; None for a forgotten one."""
        ...
