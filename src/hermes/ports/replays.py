"""Replays: answers that an operator has made again from what a message's turn had frozen.

A replay is a row that says how it went and what it took, and a branch of the conversation's graph with
what was said. It is never part of the conversation itself, and nothing of it is delivered.
"""

from typing import Any, Final, Literal, Protocol

import msgspec

from hermes.message.chat import ChatMessage
from hermes.ports.provider import ToolSpec
from hermes.ports.spend import SpendEntry
from hermes.ports.transcripts import NewCall

# What the ledger calls the channel of replays, and what their branches begin with. People cannot give
# a state of their conversation such a name: it has a colon.
REPLAY: Final = "replay"
BRANCHES: Final = f"{REPLAY}:"

# `ended` before an answer, for the row's reason; `cut_off` by the end of the process.
ReplayState = Literal["running", "answered", "ended", "failed", "stopped", "cut_off"]


class FrozenCall(msgspec.Struct, frozen=True, kw_only=True):
    """The first model call of a message's turn, with everything that it saw.

    It saw `lead`, of which the first messages are the system blocks, and then `said`: the messages of
    `branch` from `start` on. Where it saw something else after them, `lead` holds all of it.
    """

    id: str
    graph: str
    branch: str
    version: int
    model: str
    lead: tuple[ChatMessage, ...]
    said: tuple[ChatMessage, ...]
    start: int
    tools: tuple[ToolSpec, ...] = ()
    sampling: dict[str, Any] = {}  # Any: JSON, as the request had it

    @property
    def stop(self) -> int:
        """The first message of the branch that the call did not see."""
        return self.start + len(self.said)


class NewReplay(msgspec.Struct, frozen=True, kw_only=True):
    """A replay that begins: of which message, and with what instead of what was frozen.

    `model` is the one that will answer; `has_prompt` that it reads another system prompt, `is_live`
    that its tools run. Replays of one set have a `label`.
    """

    id: str
    message_id: str
    person_id: str
    graph: str
    agent: str
    model: str
    label: str = ""
    has_prompt: bool = False
    is_live: bool = False
    at: float


class ReplayBranch(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay said after what the frozen call had seen, and the calls that it made."""

    frozen: FrozenCall
    messages: tuple[ChatMessage, ...]
    calls: tuple[NewCall, ...]


class ReplayEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a replay ended; `story` is its report, sealed for the person whose message it is of."""

    state: ReplayState
    reason: str = ""
    change: float | None = None
    at: float
    story: bytes | None = None
    branch: ReplayBranch | None = None


class ReplayRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A replay as the store has it, without what was said.

    `change` is how much its answer differs from the one that was given, from 0 to 1; None if there is
    nothing to compare.
    """

    id: str
    message_id: str
    person_id: str
    agent: str
    model: str
    label: str
    has_prompt: bool
    is_live: bool
    state: ReplayState
    reason: str
    started_at: float
    ended_at: float | None
    calls: int
    tools_started: int
    tokens_in: int
    tokens_out: int
    cost_usd: float
    unpriced: int
    change: float | None


class ReplayQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which replays to return: of a message, of a set, or all, before the id of another one."""

    message_id: str = ""
    label: str = ""
    before: str = ""
    limit: int


class ReplayStore(Protocol):
    """Replays, and the frozen calls that they begin from."""

    async def frozen(self, graph: str, message_id: str) -> FrozenCall | None:
        """Return the first call of a message in its conversation; None if no model answered it.

        Raises `PersonErased` if something that it saw was erased, `NotFound` if it is gone.
        """
        ...

    async def begin(self, replay: NewReplay) -> None:
        """Write that a replay begins; raises `GuardFailed` if its conversation is gone."""
        ...

    async def step(
        self, replay_id: str, *, spent: tuple[SpendEntry, ...] = (), tools: int = 0
    ) -> None:
        """Write what calls took, into the ledger and the row, and that so many tools start now."""
        ...

    async def end(self, replay: NewReplay, end: ReplayEnd) -> None:
        """Write the end and the branch in one unit.

        Raises `PersonErased` if the person was erased meanwhile, `GuardFailed` if the replay is gone
        or has ended.
        """
        ...

    async def page(self, query: ReplayQuery) -> tuple[ReplayRecord, ...]:
        """Return replays, the newest first."""
        ...

    async def get(self, replay_id: str) -> ReplayRecord | None:
        """Return one replay."""
        ...

    async def story(self, replay_id: str) -> bytes | None:
        """Return the report of a replay; None if it has none, or its person was erased."""
        ...
