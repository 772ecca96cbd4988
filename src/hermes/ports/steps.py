"""Steps of a turn as they cross the store port: what is written before an effect and after it."""

from typing import Any, Literal

import msgspec

from hermes.message.reply import Usage
from hermes.ports.spend import SpendEntry

StepKind = Literal[
    "prepared",
    "model",
    "adapter",
    "tool",
    "steer",
    "burst",
    "approval",
    "output",
    "sight",
    "look",
    "note",
]
StepState = Literal["started", "done", "failed", "lost", "unknown"]


PaidBy = Literal["person", "platform"]


Rest = Literal["", "asked", "left"]


class TimelineEvent(msgspec.Struct, frozen=True):
    """One line of a message's timeline; `data` holds ids, names and numbers, never bodies."""

    kind: str
    at: float
    # Any: each kind has its own fields; they are only ever printed.
    data: dict[str, Any] = {}


class Lease(msgspec.Struct, frozen=True):
    """The right to write on a lane: every write of a turn carries it.

    `head` is where the lane's transcript was when the lease began: only its holder moves it.
    """

    lane: str
    owner: str
    fence: int
    head: int = 0


class StepFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """About a model call: where its answer is from and how it was read; about a tool: its subagents.

    `deployment` names the key or address that was called, if its provider has several; it is known
    from the start of the call.
    `left_out` is how many of the oldest messages the model was not shown; `is_verbatim` is false
    for an answer that was put together or read differently than it was written. `call_id` is the
    tool call that a step answers. A result that was too long for the model has `chars` characters,
    and the step `kept_in` holds it whole. A tool that was denied or is unknown `was_run` not. `stop_reason` is why the model stopped; the `rest` of an
    answer that reached its length limit was asked for, or is left to the person.
    """

    model: str = ""
    deployment: str = ""
    stop_reason: str = ""
    rest: Rest = ""
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
    was_run: bool = True


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
    payer: PaidBy = "person"
    at: float = 0.0
    ended_at: float | None = None
    facts: StepFacts | None = None


class KeptSession(msgspec.Struct, frozen=True, kw_only=True):
    """The session that an adapter has for a conversation, and for which agent, person and folder.

    Each person has a folder of their own, and may have joined a thread later than others.
    """

    agent: str
    person_id: str = ""
    runtime: str
    folder: str = ""
    id: str


class StepWrite(msgspec.Struct, frozen=True, kw_only=True):
    """Steps that ended and steps that start, in one unit; `claims` are messages steered in.

    `session` is the adapter's from now on; the end of the conversation forgets it.
    """

    message_id: str
    person_id: str
    ended: tuple[Step, ...] = ()
    started: tuple[Step, ...] = ()
    claims: tuple[str, ...] = ()
    spent: tuple[SpendEntry, ...] = ()
    events: tuple[TimelineEvent, ...] = ()
    session: KeptSession | None = None
