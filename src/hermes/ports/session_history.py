"""What was said in a session before: exchanges and kept states to go back to, and pages to show."""

from typing import Any, Literal, Protocol

import msgspec

from hermes.graph import Rating
from hermes.message.chat import ChatMessage
from hermes.ports.transcripts import VisibleHistory
from hermes.ports.turns import MessageRecord, TurnResult

ALL_BYTES = 1 << 40
NO_COMPACTION = -1


class PastExchange(msgspec.Struct, frozen=True, kw_only=True):
    """A person's message and everything up to the next one, `length` messages from `start` on.

    `said` is the message that it begins with; None if it does not open any more. `person_id` is
    whose turn it was, `message_id` by which message.
    """

    start: int
    length: int
    said: ChatMessage | None
    person_id: str
    message_id: str


TakenOut = Literal["", "reply", "all"]


class ConversationMessage(msgspec.Struct, frozen=True):
    """A message, its result once it has ended, and the epoch of its session that it belongs to.

    `taken_out` says what models no longer see of it, because somebody took it back: its reply, or all.
    """

    record: MessageRecord
    result: TurnResult | None
    epoch: int
    taken_out: TakenOut = ""


class Contribution(msgspec.Struct, frozen=True):
    """What other conversations contribute to one: the lines that its model was given."""

    kind: Literal["known", "earlier", "noticed"]
    lines: tuple[str, ...]


class ConversationPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some messages of a session over all its epochs, oldest first.

    A model sees only what belongs to `epoch`, which the session is in. `earlier` names the page
    before this one; None if this is the first. `contributions` are what the epoch began with from
    elsewhere; a session that `is_temporary` has none.
    """

    messages: tuple[ConversationMessage, ...] = ()
    epoch: int = 0
    earlier: str | None = None
    is_temporary: bool = False
    contributions: tuple[Contribution, ...] = ()


class PastStore(Protocol):
    """The past of conversations; it is changed by commits alone."""

    async def exchanges(
        self, lane: str, *, epoch: int, since: int = 0, limit: int
    ) -> tuple[PastExchange, ...]:
        """Return the newest exchanges of a conversation that begin at `since` or later, newest first."""
        ...

    async def states(self, lane: str, *, epoch: int) -> dict[str, int]:
        """Return the states that were kept of a conversation, by name, with their lengths."""
        ...

    async def is_kept(self, lane: str, *, epoch: int) -> bool:
        """Tell whether the present state is kept under a name already, or there is none to keep."""
        ...


class TranscriptStore(PastStore, Protocol):
    """What was said in a session: the message graph, as a turn needs it."""

    def drop(self, lane: str) -> None:
        """Drop what is cached of a session; it is read again when it is needed."""
        ...

    async def history(
        self,
        lane: str,
        *,
        epoch: int,
        head: int,
        limit: int = ALL_BYTES,
        cut: int = 0,
        compaction: int | None = None,
    ) -> VisibleHistory:
        """Return what a turn sees of an epoch: its newest messages, about `limit` bytes of them.

        `head` is where the lane stands; the last `cut` messages are left out. What a compaction
        replaces is not there: the newest one that holds, or the one with the version `compaction`
        (`NO_COMPACTION`: none).
        """
        ...

    async def rate_call(
        self,
        call_id: str,
        rating: Rating,
        *,
        actor: str,
        reason: str,
        at: float,
        instead_of: Rating | None = None,
    ) -> bool:
        """Keep a thumb for what a call wrote; false if no call of this id wrote anything.

        With `instead_of` it is kept only if that is the actor's thumb for it now.
        """
        ...

    async def sessions(self, *, platform: str | None, limit: int) -> tuple[dict[str, Any], ...]:
        """Return sessions, the most recently used first."""
        ...

    async def sessions_of(
        self, platform: str, user_id: str, *, person_id: str, limit: int
    ) -> tuple[dict[str, Any], ...]:
        """Return the sessions that one user of a platform has as a person, the newest first.

        Only of platforms whose callers name chats themselves (`own_chats`).
        """
        ...

    async def conversation(
        self,
        lane: str,
        *,
        limit: int,
        person_id: str | None = None,
        before: str | None = None,
    ) -> ConversationPage:
        """Return the newest messages of a session over all its epochs, oldest first.

        What was said stays, also when the rows of its messages have been forgotten. Of epochs that
        have ended only what `person_id` said is there: a session can be handed to another person.
        `before` is the `earlier` of another page; raises `BadRequest` if it is none.
        """
        ...
