"""Turns over the store port: lanes, the view of a message, and the commit that ends its turn."""

from typing import Final, Literal, Protocol

import msgspec

from hermes.graph.records import Link
from hermes.message.chat import ChatMessage
from hermes.message.choices import NO_CHOICES, SessionChoices
from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, MessageState, Outcome
from hermes.message.parts import Media
from hermes.message.reply import Usage
from hermes.message.rewind import Rewind
from hermes.ports.approvals import OpenApproval
from hermes.ports.channel import Target
from hermes.ports.memory import NewJob, Soul
from hermes.ports.outbox import NewDelivery
from hermes.ports.sessions import EndReason
from hermes.ports.spend import SpendEntry
from hermes.ports.steps import KeptSession, Lease, Step, StepWrite, TimelineEvent
from hermes.ports.transcripts import Compaction, NewCall, TranscriptEntry

# The event in the timeline of a message whose model call waits for a free place.
WAITS_FOR_PLACE = "waits_for_place"
# The event in the timeline of a message whose model saw a summary or a note in the place of older ones.
COMPACTED_HISTORY = "compacted_history"
# How much of a tool's result, and of the model's thoughts, callers are shown.
SHOWN_CHARS: Final = 2_000


CutReason = Literal["length", "refusal"]


class CreditHold(msgspec.Struct, frozen=True, omit_defaults=True):
    """Credits set aside for one message until its commit.

    A `limited` one needs a balance that covers it, otherwise the turn does not begin (`NoCredits`);
    the first such hold of a person gives them their `start_grant`.
    """

    person_id: str
    amount: int
    limited: bool = False
    start_grant: int = 0


class MessageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the inbox, decrypted; `event` is None once the person was erased."""

    id: str
    seq: int
    lane: str
    person_id: str
    event: MessageEvent | None
    state: MessageState
    busy: BusyPolicy
    control: bool
    received_at: float
    attempts: int
    external_id: str
    platform: str
    outcome: Outcome | None = None
    done_at: float | None = None
    merged_into: str | None = None
    interrupted_by: str | None = None


class LaneView(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker sees before it takes a lane: the next message and where it had got to.

    `end_reason` says why the session ended before this message, if it did not end by `/new`. `restarts`
    is how often the session of a message that had begun was cut off by the end of a process. The
    message `is_followed` if others wait behind it. A session that `is_temporary` uses nothing of others
    and leaves nothing to them.
    """

    lane: str
    fence: int
    epoch: int
    head: int
    message: MessageRecord | None
    steps: tuple[Step, ...] = ()
    waiting_on: str | None = None
    interrupted_by: str | None = None
    used_at: float = 0.0
    end_reason: EndReason | None = None
    restarts: int = 0
    choices: SessionChoices = NO_CHOICES
    is_followed: bool = False
    is_temporary: bool = False


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """Take the lane if nothing has changed since `fence` was read, and write the first steps.

    `claims` are waiting messages that are part of the turn from its first moment.
    """

    lane: str
    owner: str
    fence: int
    head: int
    message_id: str
    person_id: str
    at: float
    steps: tuple[Step, ...] = ()
    claims: tuple[str, ...] = ()
    hold: CreditHold | None = None
    events: tuple[TimelineEvent, ...] = ()


class ToolUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool that a turn ran, or that it was not allowed to run, and the beginning of its result."""

    name: str
    arguments: str
    failed: bool = False
    was_run: bool = True
    result: str = ""


class TurnResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the caller of a message gets: the reply and what it took.

    `notices` are what Hermes itself has to say beside it, such as why a conversation began again.
    `platform_usage` is what the platform paid beside it: calls whose answer the person did not get.
    `stop_reason` is `length` or `refusal` if the model did not end the answer by itself. `waits` says
    what the `approval` is about. A failed turn that `is_partial` has given a part of an answer.
    `files` are those that the reply has, beside its text; `thoughts` is the beginning of what the model
    thought before it, as far as its service shows it.
    """

    text: str
    usage: Usage = Usage()
    tool_calls: tuple[ToolUse, ...] = ()
    model: str | None = None
    reason: str | None = None
    approval: str | None = None
    waits: OpenApproval | None = None
    code: str | None = None
    question: str | None = None
    notices: tuple[str, ...] = ()
    stop_reason: CutReason | None = None
    platform_usage: Usage = Usage()
    is_partial: bool = False
    files: tuple[Media, ...] = ()
    thoughts: str = ""


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """How the hold ends: captured (`amount` > 0 stays charged) or released."""

    person_id: str
    amount: int
    captured: bool


class Interaction(msgspec.Struct, frozen=True, kw_only=True):
    """The provenance row of a turn; `took_s` is how long its sender waited, from the arrival to the end."""

    agent: str
    platform: str
    llm_backend: str | None = None
    llm_cache_hit: bool = False
    soul_load_ms: float = 0.0
    semantic_recall_used: bool = False
    tools: tuple[str, ...] = ()
    tool_exec_ms: float = 0.0
    usage: Usage = Usage()
    platform_usage: Usage = Usage()
    took_s: float | None = None


class DeliveryStop(msgspec.Struct, frozen=True):
    """A session whose replies are no longer sent, and where they were sent to.

    A commit whose words are wrong if there are any does not expect them: it raises `SendingBegan`.
    """

    lane: str
    target: Target
    is_expected: bool = True


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn, whole: either all of this becomes true, or none of it.

    `reply` is what the person gets; `reply_entry` is its index in `entries` when it is one of
    them. `compaction` is what turns see from now on in the place of older messages. `calls` and `links` are what the graph keeps of the turn beside its entries. `soul` are
    the system blocks of a session that begins, `jobs` the work that the turn leaves behind. `merged` are the steered-in messages that the turn used; others that it had
    claimed become new again. `reset_lane` starts a fresh epoch on that lane (`/new`), and its next
    message is told the `end_reason`, if there is one. `choices` are what the session's people chose
    for it from now on; `interrupts` names a running message that has to end (`/stop`), and with
    `stops_below` everything below that lane has to. `rewind` changes what was said before, ahead
    of `entries`; `mirrors` are lanes that are told of the reply. What the tools of an earlier attempt
    asked, and those of this one did not ask again, is closed if the turn `is_resumed`. The replies of
    `stops_sending` that are posted in part get no more messages.
    """

    message_id: str
    person_id: str
    outcome: Outcome
    result: TurnResult
    at: float
    epoch: int
    ended: tuple[Step, ...] = ()
    entries: tuple[TranscriptEntry, ...] = ()
    calls: tuple[NewCall, ...] = ()
    links: tuple[Link, ...] = ()
    reply: ChatMessage | None = None
    reply_entry: int | None = None
    charge: Charge | None = None
    deliveries: tuple[NewDelivery, ...] = ()
    interaction: Interaction | None = None
    spent: tuple[SpendEntry, ...] = ()
    merged: tuple[str, ...] = ()
    reset_lane: str | None = None
    end_reason: EndReason | None = None
    choices: SessionChoices | None = None
    interrupts: str | None = None
    stops_below: str | None = None
    stops_sending: DeliveryStop | None = None
    rewind: Rewind | None = None
    mirrors: tuple[str, ...] = ()
    events: tuple[TimelineEvent, ...] = ()
    soul: Soul | None = None
    jobs: tuple[NewJob, ...] = ()
    compaction: Compaction | None = None
    is_resumed: bool = False


class BranchTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn, and what its own model calls took so far."""

    message: MessageRecord
    usage: Usage = Usage()
    platform_usage: Usage = Usage()


class TurnStore(Protocol):
    """Lanes, leases, steps and the commit."""

    async def lanes_with_work(self) -> tuple[str, ...]:
        """Return every lane that has an unfinished message, oldest first."""
        ...

    async def view(self, lane: str) -> LaneView:
        """Return the next message of a lane, and its steps if it had begun."""
        ...

    async def begin(self, begin: Begin) -> Lease:
        """Lease the lane and start the message's turn; raises `LeaseLost` if the lane moved.

        With a limited hold that the balance does not cover it raises `NoCredits`.
        """
        ...

    async def step(self, lease: Lease, write: StepWrite) -> None:
        """Record steps of the turn."""
        ...

    async def kept_session(self, lane: str) -> KeptSession | None:
        """Return the session that an adapter has for the conversation of a lane."""
        ...

    async def commit(self, lease: Lease, commit: Commit) -> None:
        """End the turn and release the lane."""
        ...

    async def abandon(self, message_id: str, outcome: Outcome) -> None:
        """End a message that cannot be committed like any other, without words or charge."""
        ...

    async def interrupt(self, message_id: str, *, by: str) -> tuple[tuple[str, str], ...]:
        """Write that a message has to end, with everything that its turn has started.

        Returns the lanes and the ids, its own first; nothing if it has ended already.
        """
        ...

    async def waiting(self, lane: str) -> tuple[MessageRecord, ...]:
        """Return messages that wait on a lane for their turn, the oldest first."""
        ...

    async def below(self, lane: str) -> tuple[MessageRecord, ...]:
        """Return what has not ended on lanes below one, the oldest first."""
        ...

    async def count_below(self, lane: str) -> int:
        """Return how many messages have not ended on lanes below one."""
        ...

    async def first(self, lane: str) -> MessageRecord | None:
        """Return the first message of a lane, which may have ended."""
        ...

    async def branch(self, lane: str, message_id: str, *, limit: int) -> tuple[BranchTurn, ...]:
        """Return what the turn of a message has started, at any depth, the oldest first."""
        ...

    async def used(self, message: MessageRecord) -> BranchTurn:
        """Return a message with what its model calls took so far."""
        ...

    async def steering(self, lane: str, person_id: str) -> tuple[MessageRecord, ...]:
        """Return waiting messages of the person that want to join their running turn on the lane."""
        ...
