"""Sending on one's own: a message that is no reply, to a chat that somebody named.

Tools and schedules ask a `Courier`; the `SendStore` keeps what is sent and what each chat's sessions
are told of it, in one unit.
"""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from hermes.message.offer import NewOffer
from hermes.message.outcome import DeliveryState
from hermes.message.parts import Part, TextPart
from hermes.ports.channel import Target

# The route of the rows that tell a session what was delivered into its chat.
MIRROR = "mirror"

Reach = Literal["own", "asks", "admins"]
Purpose = Literal["reply", "tool", "notice"]


class NewChat(msgspec.Struct, frozen=True, kw_only=True):
    """A direct chat that begins with what is sent there: its session, and whose it is."""

    lane: str
    person_id: str
    platform: str
    chat_id: str


class FoundTarget(msgspec.Struct, frozen=True, kw_only=True):
    """A target that was found; without one the message becomes a file.

    `reach` says who has to agree: nobody (`own`), the person, or an admin. `sessions` are the lanes
    that are told what is delivered there; one of them may be that of a chat that it `opens`.
    """

    name: str
    reach: Reach
    target: Target | None
    sessions: tuple[str, ...] = ()
    opens: NewChat | None = None


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """A message to send, its person and the message that caused it; the same `id` is sent once."""

    id: str
    message_id: str
    person_id: str
    text: str
    purpose: Purpose = "tool"
    files: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is sent: the text, if there is any, and the files."""
        return (*((TextPart(self.text),) if self.text.strip() else ()), *self.files)


class SendResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a parcel: `where` a file is, and whether it was new."""

    is_new: bool
    where: str = ""


class Courier(Protocol):
    """Finds targets and sends to them."""

    async def find(
        self, target: str, *, message_id: str, person_id: str, is_operators: bool = False
    ) -> FoundTarget:
        """Find a target as it is written; raises `Refused` with what is possible instead.

        `message_id` is the message because of which something is sent: its chat is the origin.
        What an operator ordered, `is_operators`, may go to chats in which the person never was.
        """
        ...

    async def send(self, parcel: Parcel, place: FoundTarget) -> SendResult:
        """Send once, however often it is asked for; return when it is on disk."""
        ...


class KnownSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session of a chat: whose it is, and through which account it was spoken to last."""

    lane: str
    person_id: str
    account: str
    used_at: float


class NewSend(msgspec.Struct, frozen=True, kw_only=True):
    """A delivery that is not a reply; `mirrors` are the lanes that are notified.

    It is not written once the message `unless_ended` has ended.
    `opens` is the chat that begins with it, if nobody began it meanwhile. `offer` are the answers that are
    shown as buttons with it. After `vanish_s` it is taken back (0: it stays).
    """

    id: str
    message_id: str
    person_id: str
    target: Target
    parts: tuple[Part, ...]
    state: DeliveryState
    at: float
    purpose: Purpose = "tool"
    mirrors: tuple[str, ...] = ()
    unless_ended: str | None = None
    opens: NewChat | None = None
    offer: NewOffer | None = None
    vanish_s: float = 0.0


class SendStore(Protocol):
    """Deliveries that are no replies, and the chats that they can go to."""

    async def sessions(
        self, platform: str, chat_id: str, *, thread_id: str | None, agents: Sequence[str]
    ) -> tuple[KnownSession, ...]:
        """Return the sessions of a chat, the most recently used first; those of nobody are left out."""
        ...

    async def has_written(self, person_id: str, *, lane: str) -> bool:
        """Return whether a person has written in a session of late."""
        ...

    async def direct_chats(self, person_id: str, *, limit: int) -> tuple[KnownSession, ...]:
        """Return the direct chats that a person wrote in of late, the newest first."""
        ...

    async def put(self, send: NewSend, *, kept: Callable[[tuple[str, ...]], None]) -> bool:
        """Keep a delivery and its mirrors in one unit; false if one of this id is there already.

        `kept` is called with the lanes that got a mirror, whether or not the caller still waits.
        """
        ...
