"""The tool port: something a model may ask to have done."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from hermes.message.outcome import MessageState, Outcome
from hermes.ports.provider import ToolSpec


class ToolTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What the core must know to run a tool safely; the defaults are the cautious ones.

    Only tools that are all `parallel` run side by side, and none that `needs_approval`. Only an
    `idempotent` one is repeated when its result was lost. Only a `cancellable` one ends early when
    the person stops the turn. One that names `intents` is sent to the model for messages that have
    one of them; one that names none is sent with every message that is not trivial. One that is
    `on_by_default` is there without any setting: a model that is too small for it, such as the
    demonstration model, gets it only if the agent's list names it. One that `is_memory` reads or writes
    what is known of people or was said elsewhere: temporary conversations go without it. One that
    `needs_team` is there only for agents that may delegate to others, one that `reads_skills` only
    where skills are. Whoever approves a call
    is shown `shown_chars` of its arguments.
    """

    idempotent: bool = False
    cancellable: bool = False
    needs_approval: bool = False
    parallel: bool = False
    timeout_s: float | None = None
    intents: tuple[str, ...] = ()
    on_by_default: bool = False
    is_memory: bool = False
    needs_team: bool = False
    reads_skills: bool = False
    shown_chars: int = 500

    @property
    def runs_beside_others(self) -> bool:
        """Return whether it may run while other such tools do."""
        return self.parallel and not self.needs_approval


RunChild = Callable[[str, str], Awaitable[str]]
Approver = Literal["nobody", "person", "admins"]
# Who may answer a question: the person who is asked, also admins and operators, or these alone.
Deciders = Literal["person", "approvers", "admins"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a running tool wants to know of the person, in words and as a JSON schema.

    A schema without properties asks for a yes or a no, and only such a question has `deciders` other
    than the person. They may take `within_s`, counted from when the question is shown.
    """

    text: str
    # Any: a JSON schema.
    schema: Mapping[str, Any]
    within_s: float
    deciders: Deciders = "person"

    @property
    def is_yes_or_no(self) -> bool:
        """Whether a yes is an answer."""
        return not self.schema.get("properties")


# Any: the answer, JSON values by name; None when the person declines or cannot be asked.
AskPerson = Callable[[Question], Awaitable[Mapping[str, Any] | None]]


class DelegatedTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task that was given to an agent, and how far it is.

    `task_id` is the id of its message; without one the task was not given. `error` says why there is no
    reply, or none that is whole.
    """

    workspace: str
    task_id: str = ""
    state: MessageState | None = None
    outcome: Outcome | None = None
    reply: str = ""
    error: str = ""


class Team(Protocol):
    """The agents to which a turn may give tasks, and the tasks of its conversation."""

    async def delegate(
        self, text: str, workspaces: Sequence[str], *, waits: bool
    ) -> tuple[DelegatedTask, ...]:
        """Give a task to one or several agents at once; return the tasks, or how they ended."""
        ...

    async def look(self, task_id: str, *, wait_s: float = 0.0) -> DelegatedTask:
        """Return how far a task is, after it has ended or this time; raises `ToolError`."""
        ...

    async def cancel(self, task_id: str) -> DelegatedTask:
        """Stop a task, and what it has started; raises `ToolError`."""
        ...


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a running tool may know; `run_child` runs a subagent's turn and returns its reply,
    `sample` one without tools, for words that are not those of people or models.

    `ask` puts a question to the person in their chat and waits for the answer. `call` counts the
    tool calls of the turn from 1 on: with `turn_id` it names this one, also when it is run again
    after a crash. Only where the chat `is_private` may what is known of the person be told; only
    where the turn `may_read_history` what the person said in other sessions. `approved_by` says who
    has agreed to this call, if somebody had to. Through its `team` a tool gives tasks to other agents.
    `skills` are those of the turn, `folder` is which of the session's working folders its agent uses.
    """

    turn_id: str
    ordinal: int
    person_id: str
    lane: str
    run_child: RunChild
    sample: RunChild | None = None
    call: int = 1
    is_private: bool = False
    may_read_history: bool = True
    approved_by: Approver = "nobody"
    ask: AskPerson | None = None
    team: Team | None = None
    skills: tuple[str, ...] = ()
    folder: str = ""


@runtime_checkable
class AsksByCall(Protocol):
    """A tool of which some calls need an approval; it never runs in parallel with others."""

    async def approver(self, arguments: msgspec.Raw, context: ToolContext) -> Approver:
        """Return who has to agree to a call before it runs."""
        ...


class Tool(Protocol):
    """One tool."""

    @property
    def spec(self) -> ToolSpec:
        """What the model receives about it."""
        ...

    @property
    def traits(self) -> ToolTraits:
        """How it may be run."""
        ...

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Do it and return the text for the model; raise `ToolError` for a failure to report."""
        ...
