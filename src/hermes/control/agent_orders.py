"""The requests and reports of orders about agents."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from hermes.ports.adapter import NATIVE
from hermes.ports.agents import AgentState
from hermes.ports.request_numbers import Quantity, WholeNumber

ShortText = Annotated[str, Meta(max_length=200)]
LineText = Annotated[str, Meta(max_length=2_000)]
PromptText = Annotated[str, Meta(max_length=200_000)]
Blocks = Annotated[tuple[PromptText, ...], Meta(max_length=50)]
# Any: JSON.
JsonObject = dict[str, Any]
Names = Annotated[tuple[ShortText, ...], Meta(max_length=500)]


class AgentFields(msgspec.Struct, frozen=True, kw_only=True):
    """What can be set of an agent, as under `agents` in config.yaml; null goes back to the default."""

    role: LineText | UnsetType | None = UNSET
    runtime: ShortText | UnsetType | None = UNSET
    model: ShortText | UnsetType | None = UNSET
    description: LineText | UnsetType | None = UNSET
    tone: ShortText | UnsetType | None = UNSET
    system_blocks: Blocks | UnsetType | None = UNSET
    system_prompt: PromptText | UnsetType | None = UNSET
    tier: ShortText | UnsetType | None = UNSET
    tools: Names | UnsetType | None = UNSET
    delegates: Names | UnsetType | None = UNSET
    skills: Names | UnsetType | None = UNSET
    temperature: Quantity | UnsetType | None = UNSET
    top_p: Quantity | UnsetType | None = UNSET
    stop: Names | UnsetType | None = UNSET
    seed: WholeNumber | UnsetType | None = UNSET
    reasoning: ShortText | UnsetType | None = UNSET
    max_output_tokens: WholeNumber | UnsetType | None = UNSET
    budget_day_usd: Quantity | UnsetType | None = UNSET
    cache: bool | UnsetType | None = UNSET
    tool_rounds: WholeNumber | UnsetType | None = UNSET
    turn_limit_s: Quantity | UnsetType | None = UNSET
    response_schema: JsonObject | UnsetType | None = UNSET
    approvals: JsonObject | UnsetType | None = UNSET
    adapter: JsonObject | UnsetType | None = UNSET
    shared: bool | UnsetType | None = UNSET


class NewAgent(AgentFields, frozen=True, kw_only=True):
    """A new agent; `name` is how it is called, unique among all agents."""

    name: ShortText
    note: ShortText = ""
    by: str = ""


class NewRemoteAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent of another system, by the address of its agent card or of the agent.

    Its name and description are those of its card unless it is given a `name`. `secret` is the name of
    the stored secret that is its key.
    """

    url: LineText
    name: ShortText = ""
    secret: ShortText = ""
    note: ShortText = ""
    by: str = ""


class AgentChange(AgentFields, frozen=True, kw_only=True):
    """New values of some fields; with `version`, only if that is still the newest one."""

    id: str
    name: ShortText | UnsetType = UNSET
    version: WholeNumber | None = None
    note: ShortText = ""
    by: str = ""


class AgentsAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Which agents to list: of one state, by name from the one after `after` on."""

    state: str = ""
    after: str = ""
    limit: WholeNumber = 100


class AgentAsk(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, by its id or its name."""

    id: str


class AgentOrder(AgentAsk, frozen=True, kw_only=True):
    """An order about an agent."""

    by: str = ""


class AgentSwap(AgentAsk, frozen=True, kw_only=True):
    """The wish that another adapter answers for an agent, in an empty folder or in the one it had."""

    runtime: ShortText
    preserve_cwd: bool = False
    note: ShortText = ""
    by: str = ""


class AgentEnd(AgentAsk, frozen=True, kw_only=True):
    """The wish to delete an agent after `grace_s` seconds; default: workspaces.delete_grace_s."""

    grace_s: Quantity | None = None
    by: str = ""


class VersionsAsk(AgentAsk, frozen=True, kw_only=True):
    """Which versions of an agent to list: those before a number."""

    before: WholeNumber | None = None
    limit: WholeNumber = 50


class DiffAsk(AgentAsk, frozen=True, kw_only=True):
    """Two versions to compare; default: the newest one with the one before."""

    old: WholeNumber | None = None
    new: WholeNumber | None = None


class Revert(AgentAsk, frozen=True, kw_only=True):
    """The wish to give an agent the fields of an earlier version again."""

    version: WholeNumber
    note: ShortText = ""
    by: str = ""


class AgentLine(msgspec.Struct, frozen=True, kw_only=True):
    """An agent; `id` is its key everywhere, `name` how people call it.

    `called` is how it calls itself. `source` is `file` for an agent of config.yaml. `model` is empty where the gateway's default
    counts, `rules` say which messages the agent answers without being named.
    """

    id: str
    name: str
    called: str
    status: AgentState
    reason: str = ""
    source: Literal["file", "store"]
    is_default: bool = False
    role: str
    runtime: str = NATIVE
    model: str
    tools: tuple[str, ...]
    skills: tuple[str, ...] = ()
    description: str
    shared: bool = False
    version: int = 0
    created_at: float | None = None
    changed_at: float | None = None
    delete_at: float | None = None
    author: str = ""
    rules: tuple[str, ...] = ()


class AgentReport(AgentLine, frozen=True, kw_only=True):
    """An agent with every field that is set, also what its model is told."""

    # Any: JSON.
    settings: dict[str, Any] = {}


class AgentsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Agents, those of config.yaml first; `after` continues the list if there are more."""

    workspaces: tuple[AgentLine, ...] = ()
    after: str = ""


class VersionLine(msgspec.Struct, frozen=True, kw_only=True):
    """A version of an agent: who made it, and which fields it has changed."""

    version: int
    author: str
    at: float
    note: str
    changed: tuple[str, ...]


class VersionsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Versions of an agent, newest first."""

    id: str
    versions: tuple[VersionLine, ...]


class FieldDiff(msgspec.Struct, frozen=True, kw_only=True):
    """One field in two versions; null is the default."""

    field: str
    # Any: JSON.
    old: Any
    new: Any


class DiffReport(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between two versions of an agent."""

    id: str
    old: int
    new: int
    fields: tuple[FieldDiff, ...]
