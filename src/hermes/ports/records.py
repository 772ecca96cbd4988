"""The values that cross the store port: what callers write and what they read back.

Bodies are plain here; the store encrypts them on the way in and decrypts them on the way out.
"""

from typing import Any, Literal

import msgspec

from hermes.graph.records import Link
from hermes.message.chat import ChatMessage
from hermes.message.choices import NO_CHOICES, SessionChoices
from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, DeliveryState, MessageState, Outcome
from hermes.message.parts import Part
from hermes.message.reply import Usage
from hermes.message.rewind import Rewind
from hermes.ports.channel import Target
from hermes.ports.memory import NewJob, Soul
from hermes.ports.provider import ToolSpec
from hermes.ports.sessions import EndReason
from hermes.ports.shares import Share
from hermes.ports.spend import Spent

StepKind = Literal[
    "prepared", "model", "tool", "steer", "burst", "approval", "output", "sight", "look", "note"
]
StepState = Literal["started", "done", "failed", "lost", "unknown"]
Payer = Literal["person", "platform"]
ApprovalState = Literal["waiting", "approved", "denied", "expired"]
# The event in the timeline of a message whose model call waits for a free place.
WAITS_FOR_PLACE = "waits_for_place"


class Event(msgspec.Struct, frozen=True):
    """One line of a message's timeline; `data` holds ids, names and numbers, never bodies."""

    kind: str
    at: float
    # Any: each kind has its own fields; they are only ever printed.
    data: dict[str, Any] = {}


class NewMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message to accept; `identity` is what makes two bodies under one id the same.

    One that `steers` was written to join the turn that runs on its lane (`/steer`).
    It counts for its `share` while it waits, under the person that the store finds; without a share
    it counts in all alone.
    """

    id: str
    lane: str
    event: MessageEvent
    identity: bytes
    received_at: float
    control: bool = False
    busy: BusyPolicy = BusyPolicy.QUEUE
    steers: bool = False
    group: "InGroup | None" = None
    share: Share | None = None


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
    """What the inbox did with it."""

    message_id: str
    duplicate: bool
    state: MessageState


class Lease(msgspec.Struct, frozen=True):
    """The right to write on a lane: every write of a turn carries it."""

    lane: str
    owner: str
    fence: int


class StepFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """About a model call: where its answer is from and how it was read; about a tool: its subagents.

    `left_out` is how many of the oldest messages the model was not shown; `is_verbatim` is false
    for an answer that was put together or read differently than it was written. `call_id` is the
    tool call that a step answers. A result that was too long for the model has `chars` characters,
    and the step `kept_in` holds it whole.
    """

    model: str = ""
    cached_from: str | None = None
    left_out: int = 0
    is_verbatim: bool = True
    had_tools: bool = False
    sampling: dict[str, Any] = {}  # Any: JSON, as the request has it
    ms: float = 0.0
    children: tuple[str, ...] = ()
    call_id: str = ""
    chars: int = 0
    kept_in: int | None = None


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded effect of a turn; `body` is its frozen input or its result, as JSON.

    `facts` are what the graph has to know about it and what resuming cannot find out otherwise.
    """

    ordinal: int
    kind: StepKind
    state: StepState
    name: str = ""
    arguments_hash: bytes = b""
    body: bytes | None = None
    usage: Usage = Usage()
    payer: Payer = "person"
    at: float = 0.0
    ended_at: float | None = None
    facts: StepFacts | None = None


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
    message `is_followed` if others wait behind it.
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


class Begin(msgspec.Struct, frozen=True, kw_only=True):
    """Take the lane if nothing has changed since `fence` was read, and write the first steps.

    `claims` are waiting messages that are part of the turn from its first moment.
    """

    lane: str
    owner: str
    fence: int
    expires: float
    message_id: str
    person_id: str
    at: float
    steps: tuple[Step, ...] = ()
    claims: tuple[str, ...] = ()
    hold: CreditHold | None = None
    events: tuple[Event, ...] = ()


class StepWrite(msgspec.Struct, frozen=True, kw_only=True):
    """Steps that ended and steps that start, in one unit; `claims` are messages steered in."""

    message_id: str
    person_id: str
    ended: tuple[Step, ...] = ()
    started: tuple[Step, ...] = ()
    claims: tuple[str, ...] = ()
    spent: tuple[Spent, ...] = ()
    events: tuple[Event, ...] = ()


class NewApproval(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person before a tool may run, bound to the tool and its raw arguments."""

    id: str
    message_id: str
    ordinal: int
    tool: str
    arguments_hash: bytes
    requester: str
    chat_type: str
    asked_at: float
    expires_at: float


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """An approval and how it stands."""

    id: str
    message_id: str
    lane: str
    ordinal: int
    tool: str
    arguments_hash: bytes
    requester: str
    chat_type: str
    expires_at: float
    state: ApprovalState
    decided_by: str | None = None


class NewDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A reply to send; one id from its first preview to its last retry.

    `parts` is None for the turn's own reply, which the commit holds already.
    """

    id: str
    target: Target
    parts: tuple[Part, ...] | None
    state: DeliveryState
    purpose: Literal["reply", "tool", "notice"] = "reply"


class DeliveryNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened to a delivery on its way, such as a send that failed.

    `failure` is its class and `why` what the platform said, without secrets. `then` is what follows:
    again (at once or in seconds), later, waits (for its channel), unknown, repeated, resent, found,
    not_there, held, anew, dead, replay, drop or lapsed; `until` is when. Where nothing was sent,
    `tried` is false. `chunk` counts the messages of the reply.
    """

    at: float
    failure: str = ""
    why: str = ""
    then: str = ""
    until: float | None = None
    tried: bool = True
    chunk: int = 0


class DeliveryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the outbox, decrypted; `parts` is None once the person was erased.

    `attempts` are the series of tries that are used up, `failed` all sends that failed; the last of
    them, and what else happened, are its `story`.

    `platform_message_id` and `more` are the messages that show the reply while it is written, one
    for each of its chunks; None where one may stand whose id is not known. `fresh` is set once the
    whole reply is sent anew in their place.
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


class ToolUse(msgspec.Struct, frozen=True):
    """A tool that a turn ran."""

    name: str
    arguments: str
    failed: bool = False


class TurnResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the caller of a message gets: the reply and what it took.

    `notices` are what Hermes itself has to say beside it, such as why a conversation began afresh.
    """

    text: str
    usage: Usage = Usage()
    tool_calls: tuple[ToolUse, ...] = ()
    model: str | None = None
    reason: str | None = None
    approval: str | None = None
    code: str | None = None
    question: str | None = None
    notices: tuple[str, ...] = ()


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """How the hold ends: captured (`amount` > 0 stays charged) or released."""

    person_id: str
    amount: int
    captured: bool


class Interaction(msgspec.Struct, frozen=True, kw_only=True):
    """The provenance row of a turn."""

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


class TranscriptEntry(msgspec.Struct, frozen=True):
    """One new entry of the transcript; `ordinal` names the step that already holds its body."""

    message: ChatMessage
    ordinal: int | None = None


class VisibleHistory(msgspec.Struct, frozen=True):
    """What a turn sees of its session: messages of its graph from `start` on.

    `start` is None when some of them are gone, so that the rest is no run of messages.
    """

    start: int | None
    messages: tuple[ChatMessage, ...]


class NewCall(msgspec.Struct, frozen=True, kw_only=True):
    """One model call of a turn: it saw `lead`, the session from `start`, and `seen` new entries.

    The entry after those is what it wrote. A `start` of None means that `lead` holds all that was
    said before the turn, of which the session has the messages `known` already and which must not
    be kept a second time: they are other people's, too; `skipped` of the turn's own were not shown.
    Only what a model wrote just now, whole and word for word, is `sampled`.
    """

    id: str
    model: str
    seen: int
    lead: tuple[ChatMessage, ...]
    start: int | None
    at: float
    known: tuple[int, int] = (0, 0)
    skipped: int = 0
    tools: tuple[ToolSpec, ...] = ()
    sampling: dict[str, Any] = {}  # Any: JSON, as the request has it
    metadata: dict[str, Any] = {}  # Any: as above
    usage: Usage = Usage()
    sampled: bool = True
    cached_from: str | None = None


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn, whole: either all of this becomes true, or none of it.

    `reply` is what the person gets; `reply_entry` is its index in `entries` when it is one of
    them. `calls` and `links` are what the graph keeps of the turn beside its entries. `soul` are
    the system blocks of a session that begins, `job` the work that the turn leaves behind. `merged` are the steered-in messages that the turn used; others that it had
    claimed become new again. `reset_lane` starts a fresh epoch on that lane (`/new`), and its next
    message is told the `end_reason`, if there is one. `choices` are what the session's people chose
    for it from now on; `interrupts` names a running message that has to end (`/stop`), and with
    `stops_below` everything below that lane has to. `rewind` changes what was said before, ahead
    of `entries`; `mirrors` are lanes that are told of the reply.
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
    spent: tuple[Spent, ...] = ()
    merged: tuple[str, ...] = ()
    reset_lane: str | None = None
    end_reason: EndReason | None = None
    choices: SessionChoices | None = None
    interrupts: str | None = None
    stops_below: str | None = None
    rewind: Rewind | None = None
    mirrors: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    soul: Soul | None = None
    job: NewJob | None = None


class RefusedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was not accepted, kept best-effort so that `why` can explain it."""

    id: str
    at: float
    platform: str
    code: str
    text: str
    external_id: str | None = None
    message_id: str | None = None


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote: one person over all their channels."""

    id: str
    created_at: float
    tier: str = "free"
    may_train: bool = False
    is_erased: bool = False


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the journal knows of one message."""

    message: MessageRecord | None
    result: TurnResult | None
    steps: tuple[Step, ...]
    events: tuple[Event, ...]
    deliveries: tuple[DeliveryRecord, ...]
    ledger: tuple[dict[str, Any], ...]
    interaction: dict[str, Any] | None
    refusal: RefusedMessage | None = None

    @property
    def has_waited_for_place(self) -> bool:
        """Whether a model call of the message had to wait for a free place."""
        return any(event.kind == WAITS_FOR_PLACE for event in self.events)
