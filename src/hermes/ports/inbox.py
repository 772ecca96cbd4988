"""The inbox over the store port: messages that become ours, and those that were refused."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from hermes.message.event import MessageEvent
from hermes.message.offer import Press
from hermes.message.outcome import BusyPolicy, MessageState
from hermes.ports.channel import DeniedApproval
from hermes.ports.shares import Share, ShareCounts
from hermes.ports.steps import TimelineEvent
from hermes.ports.turns import MessageRecord, TurnResult


class NewMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message to accept; `identity` is what makes two bodies under one id the same.

    One that `steers` was written to join the turn that runs on its lane (`/steer`); one that `denies`
    denies the approval that its lane waits for, and ends the turn that asked.
    It counts for its `share` while it waits, under the person that the store finds; without a share
    it counts in all alone. One with a `press` uses that answer of an offer up.
    """

    id: str
    lane: str
    event: MessageEvent
    identity: bytes
    received_at: float
    control: bool = False
    busy: BusyPolicy = BusyPolicy.QUEUE
    steers: bool = False
    denies: bool = False
    group: "InGroup | None" = None
    share: Share | None = None
    press: Press | None = None


class InGroup(msgspec.Struct, frozen=True, kw_only=True):
    """What a message does in its group beside its turn.

    One that `is_kept` is no turn: its words are at hand until somebody speaks to the bot in its
    `chat`. A message that `takes` two threads of the chat brings along what was missed there.
    `bot_turns` is how many turns in a row bots get there (0: nobody counts).
    """

    chat: str
    thread: str = ""
    is_kept: bool = False
    takes: tuple[str, str] | None = None
    is_bot: bool = False
    bot_turns: int = 0


class AcceptResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the inbox did with it: the approval that it has denied, and the lanes that go on."""

    message_id: str
    duplicate: bool
    state: MessageState
    denied: DeniedApproval | None = None
    wakes: tuple[str, ...] = ()


class RefusedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was not accepted, kept best-effort so that `why` can explain it."""

    id: str
    at: float
    platform: str
    code: str
    text: str
    external_id: str | None = None
    message_id: str | None = None


class InboxStore(Protocol):
    """Messages becoming ours, once each."""

    async def accept(
        self, message: NewMessage, *, kept: Callable[[AcceptResult], None]
    ) -> AcceptResult:
        """Keep the message; the same id with another body raises `Conflict`.

        Raises `GuardFailed` if its press comes too late, or was made before. The same signed content (`content_key`) is the same message under any id.
        `kept` is called once the message is on disk, whether or not the caller still waits.
        """
        ...

    async def knows(self, event: MessageEvent) -> bool:
        """Return True if this message was accepted before, the same way."""
        ...

    def waiting(self) -> int:
        """Return how many accepted messages have no outcome yet."""
        ...

    def shares(self) -> ShareCounts:
        """Return whose they are, as far as they came over a channel."""
        ...

    def came_by(self, lane: str) -> str:
        """Return the way that the first waiting message of a lane came; empty if over no channel."""
        ...

    async def get(self, message_id: str) -> MessageRecord | None:
        """Return one message."""
        ...

    async def state(self, message_id: str) -> MessageState | None:
        """Return the state of one message without decrypting it."""
        ...

    async def result(self, message_id: str) -> TurnResult | None:
        """Return what a finished message answered."""
        ...

    async def refuse(self, refusal: RefusedMessage, *, keep: int) -> None:
        """Note a refusal, keeping only the newest `keep`."""
        ...

    async def note(self, message_id: str, event: TimelineEvent) -> None:
        """Add a line to a message's timeline."""
        ...
