"""The adapter port: what answers an agent's messages in place of the models of Hermes.

An agent's `runtime` names its adapter. The built-in one, `hermes`, is the path of models and tools
itself and passes nothing of this file. Every other one gets a whole message and answers it with a
program or an agent that has tools and a memory of its own.

A call may have effects, so it is never made twice: after a crash the same call is made again with
`was_cut_off`, and its adapter goes on where the session stopped, or raises `AdapterLost`.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, Literal, Protocol

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import Part
from hermes.message.reply import Usage
from hermes.ports.provider import StopReason, TextDelta, ToolSpec
from hermes.ports.tool import AskPerson

# The runtime of agents whose messages are answered by the models of Hermes.
NATIVE: Final = "hermes"
# Who has booked the cost of a call: nobody yet, or the gateway's own `/v1` with each model call.
BookedBy = Literal["nobody", "v1"]


class AdapterAgent(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that is called: its key and name, its model (empty: the adapter's own choice), and
    the fields of its `adapter` settings."""

    key: str
    name: str
    model: str = ""
    # Any: JSON.
    options: Mapping[str, Any] = {}


class AdapterCall(msgspec.Struct, frozen=True, kw_only=True):
    """One message for an adapter; the last of `messages` is the one to answer.

    `id` names the call, also when it is made again because it `was_cut_off`. `session` is what the
    adapter last called its own session of this conversation; it is empty if there is none, and then
    nobody but `messages` knows what was said before. `conversation` names the conversation, and never
    another one. `tools` are there only for an adapter that supports them. `ask` puts a yes or no, or
    another question, to whoever may answer it; None is a no, also where nobody can be asked. `depth` is how many turns wait for
    this one, here and on other gateways.
    """

    id: str
    agent: AdapterAgent
    person_id: str
    tier: str
    lane: str
    conversation: str
    platform: str
    messages: tuple[ChatMessage, ...]
    system: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    session: str = ""
    was_cut_off: bool = False
    budget_day_usd: float | None = None
    ask: AskPerson | None = None
    depth: int = 0


class AdapterSession(msgspec.Struct, frozen=True, tag="session"):
    """The adapter's own session of this conversation: on the disk before the stream goes on.

    It may be anything of at most `MAX_SESSION` characters by which the call, and the next one, find it.
    """

    id: str


class AdapterStatus(msgspec.Struct, frozen=True, tag="status"):
    """What the adapter does at the moment, in a few words, for whoever watches."""

    text: str


class AdapterEnd(msgspec.Struct, frozen=True, tag="end"):
    """The whole answer, what it took, and by whom; `model` is what the adapter says of it.

    A cost of 0 with tokens is an unknown one, unless `booked_by` says that it is in the ledger already.
    """

    parts: tuple[Part, ...]
    usage: Usage = Usage()
    model: str = ""
    stop_reason: StopReason = "end"
    booked_by: BookedBy = "nobody"


AdapterEvent = TextDelta | AdapterSession | AdapterStatus | AdapterEnd
MAX_SESSION: Final = 2_000


class Adapter(Protocol):
    """One way to run agents; its errors are `AdapterError` and what stands below it."""

    @property
    def needs_grant(self) -> bool:
        """Whether it works only for people, or roles, whom the agent names."""
        ...

    @property
    def supports_tools(self) -> bool:
        """Whether it can call the tools of Hermes: an answer may hold tool calls then."""
        ...

    async def complete(self, call: AdapterCall) -> AdapterEnd:
        """Return the whole answer; like `stream` to its end."""
        ...

    def stream(self, call: AdapterCall) -> AsyncGenerator[AdapterEvent, None]:
        """Yield the answer as it is written, and one `AdapterEnd` as the last event.

        Closing the generator ends everything that the call has started.
        """
        ...

    async def health_check(self, agent: AdapterAgent) -> str:
        """Return why an agent cannot be called now; empty if it can. It calls no model."""
        ...


async def last_event(events: AsyncGenerator[AdapterEvent, None]) -> AdapterEnd:
    """Return the end of a stream, for an adapter whose `complete` is nothing else."""
    end: AdapterEnd | None = None
    async for event in events:
        if isinstance(event, AdapterEnd):
            end = event
    assert end is not None
    return end
