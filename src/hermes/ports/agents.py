"""The store of agents that are made while the gateway runs, and of every version of them."""

from typing import Final, Literal, Protocol

import msgspec

# How far an agent is: its model is being checked, it answers, its model cannot be called, an
# operator stopped it, or it will be gone at `delete_at`.
AgentState = Literal["provisioning", "ready", "failed", "stopped", "deleting"]
AGENT_STATES: Final[tuple[AgentState, ...]] = (
    "provisioning",
    "ready",
    "failed",
    "stopped",
    "deleting",
)


class AgentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A stored agent with its newest version.

    `id` never changes and is the agent's key everywhere; `name` is unique among the stored agents.
    `document` is the JSON of the newest version; `reason` says why the agent does not answer.
    """

    id: str
    name: str
    state: AgentState
    version: int
    document: bytes
    author: str
    created_at: float
    changed_at: float
    reason: str = ""
    delete_at: float | None = None


class AgentVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an agent, which never changes."""

    number: int
    document: bytes
    author: str
    at: float
    note: str = ""


class RemoteCard(msgspec.Struct, frozen=True, kw_only=True):
    """What the card of an agent of another system says of it."""

    name: str
    description: str = ""


class AgentStore(Protocol):
    """Keeps agents."""

    async def add(self, agent: AgentRecord, *, note: str, most: int) -> None:
        """Store a new agent and its first version.

        Raises `Conflict` if another agent has the name, and `TooLarge` if there are `most`.
        """
        ...

    async def find(self, name: str) -> AgentRecord | None:
        """Return the agent of an id or a name; mostly from memory."""
        ...

    async def page(
        self, *, after: str = "", limit: int, state: AgentState | None = None
    ) -> tuple[AgentRecord, ...]:
        """Return agents by name, from the one after a name on."""
        ...

    async def change(
        self,
        agent_id: str,
        version: AgentVersion,
        *,
        name: str,
        state: AgentState,
        keep: int,
    ) -> AgentRecord:
        """Store the next version, and the state that follows from it; the oldest ones over `keep` go.

        Raises `Conflict` if another agent has the name, or if another change came first.
        """
        ...

    async def set_state(
        self,
        agent_id: str,
        state: AgentState,
        *,
        while_in: tuple[AgentState, ...],
        at: float,
        version: int | None = None,
        reason: str = "",
        delete_at: float | None = None,
    ) -> bool:
        """Change the state; False if the agent is in none of these states, or at another version."""
        ...

    async def versions(
        self, agent_id: str, *, before: int | None = None, limit: int
    ) -> tuple[AgentVersion, ...]:
        """Return the versions of an agent, newest first."""
        ...

    async def version(self, agent_id: str, number: int) -> AgentVersion | None:
        """Return one version."""
        ...

    async def unfinished(self, now: float, *, limit: int) -> tuple[AgentRecord, ...]:
        """Return agents to be checked, and those whose time to be deleted has come."""
        ...

    async def check_failed_again(self, at: float) -> int:
        """Let every failed agent be checked again; return how many there are."""
        ...

    async def remove(self, agent_id: str, *, now: float) -> bool:
        """Delete an agent with its versions; False unless its time to be deleted has come."""
        ...

    async def counts(self) -> dict[AgentState, int]:
        """Return how many agents there are in each state."""
        ...
