"""The agents of this gateway by name, and which of them answers an event."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Protocol

import msgspec

from hermes.agents.definition import Definition, define, read_document
from hermes.config import AgentRuleSettings, AgentSettings, ChannelSettings, conditions
from hermes.errors import AgentNotReady, AgentUnavailable, NotFound
from hermes.message.channel_name import settings_place
from hermes.message.event import MessageEvent
from hermes.message.source import Source
from hermes.ports.adapter import NATIVE, AdapterAgent
from hermes.ports.agents import AgentRecord, AgentState, AgentVersion

_PERSON_ID = "p_"
_CLOSENESS = ("person", "thread", "chat", "guild", "chat_type", "channel", "platform")
_Fits = Callable[[str, Source, str | None], bool]
_DEFINITIONS_KEPT = 1_000
_PREPARED_S = 1.0
_WHY_NOT: Mapping[AgentState, str] = MappingProxyType(
    {
        "failed": "The agent {name!r} cannot answer: {reason}",
        "stopped": "The agent {name!r} is stopped: `hermes agents start {name}` starts it again.",
        "deleting": "The agent {name!r} is being deleted.",
    }
)


class AgentRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: where it is in the settings, its agent, and its conditions on a message."""

    place: str
    agent: str
    asks: tuple[tuple[str, str], ...]

    @property
    def names_a_person(self) -> bool:
        """Whether the rule depends on the person."""
        return any(field == "person" and _is_person_id(value) for field, value in self.asks)


def rules_of(
    settings: Mapping[str, AgentRuleSettings], channels: Mapping[str, ChannelSettings]
) -> tuple[AgentRule, ...]:
    """Return the configured rules, the most specific first; a channel's own agent is one of them."""
    rules = [
        AgentRule(place=f"agent_rules.{name}", agent=rule.agent or "", asks=conditions(rule))
        for name, rule in settings.items()
    ]
    own = [
        AgentRule(place=settings_place(name), agent=chosen.agent, asks=(("channel", name),))
        for name, chosen in channels.items()
        if chosen.agent is not None
    ]
    own += [
        AgentRule(
            place=f"{settings_place(name)}.chats.{chat}",
            agent=one.agent,
            asks=chat_asks(name, chat),
        )
        for name, chosen in channels.items()
        for chat, one in chosen.chats.items()
        if one.agent is not None
    ]
    return tuple(sorted((*rules, *own), key=_distance))


def chat_asks(channel: str, chat: str) -> tuple[tuple[str, str], ...]:
    """Return the conditions of the settings of one chat of a channel."""
    return (("chat", chat), ("channel", channel))


def choose(
    rules: Iterable[AgentRule], source: Source, *, person_id: str | None
) -> AgentRule | None:
    """Return the first rule that matches a message."""
    for rule in rules:
        if meets(rule.asks, source, person_id=person_id):
            return rule
    return None


def meets(asks: Iterable[tuple[str, str]], source: Source, *, person_id: str | None) -> bool:
    """Return whether a message meets all conditions."""
    return all(_FITS[field](value, source, person_id) for field, value in asks)


def _distance(rule: AgentRule) -> tuple[bool, ...]:
    asked = {field for field, _ in rule.asks}
    return tuple(field not in asked for field in _CLOSENESS)


def _is_person(value: str, source: Source, person_id: str | None) -> bool:
    if _is_person_id(value):
        return value == person_id
    return value == source.sender_name


def _is_person_id(value: str) -> bool:
    return value.startswith(_PERSON_ID) and ":" not in value


def _is_chat_type(value: str, source: Source, _person_id: str | None) -> bool:
    is_thread = source.thread_id is not None or source.chat_type == "thread"
    return is_thread if value == "thread" else source.chat_type == value


_FITS: Mapping[str, _Fits] = {
    "person": _is_person,
    "thread": lambda value, source, _: source.thread_id == value,
    "chat": lambda value, source, _: value in (source.chat_id, source.parent_chat_id),
    "guild": lambda value, source, _: source.guild_id == value,
    "chat_type": _is_chat_type,
    "channel": lambda value, source, _: source.platform == value,
    "platform": lambda value, source, _: value in (source.platform, source.sender[0]),
}


class Agent(msgspec.Struct, frozen=True):
    """One agent as it is now: its key, its settings, and whether it answers.

    `key` is its name in conversations, budgets and the graph, and never changes: the name in
    config.yaml, or the id `w_...`. `name` is how people call it. `version` is 0 for an agent of
    config.yaml. Calls of a `shared` agent share one conversation, whoever makes them.
    """

    key: str
    settings: AgentSettings
    name: str = ""
    state: AgentState = "ready"
    reason: str = ""
    version: int = 0
    shared: bool = False

    @property
    def is_stored(self) -> bool:
        """Whether the agent was made while the gateway runs, and is not in config.yaml."""
        return self.version > 0

    @property
    def is_native(self) -> bool:
        """Whether models of Hermes answer, and no adapter."""
        return self.settings.runtime == NATIVE

    def check_ready(self) -> None:
        """Raise `AgentNotReady` or `AgentUnavailable` if the agent takes no messages now."""
        name = self.name or self.key
        if self.state == "provisioning":
            raise AgentNotReady(f"The agent {name!r} is being prepared.", _PREPARED_S)
        if self.state != "ready":
            raise AgentUnavailable(_WHY_NOT[self.state].format(name=name, reason=self.reason))


def adapter_agent(key: str, settings: AgentSettings) -> AdapterAgent:
    """Return an agent as its adapter sees it."""
    return AdapterAgent(
        key=key,
        name=settings.name,
        model=settings.model or "",
        options=settings.adapter.model_dump(),
    )


class StoredAgents(Protocol):
    """Finds agents that are made while the gateway runs."""

    async def find(self, name: str, /) -> AgentRecord | None: ...
    async def version(self, agent_id: str, number: int, /) -> AgentVersion | None: ...
    async def page(
        self, *, limit: int, state: AgentState | None = None
    ) -> tuple[AgentRecord, ...]: ...


class Roster:
    """All agents: those of config.yaml, and those that are stored.

    Stored agents are looked up each time, so that a change is seen at once, here and by other
    processes; only what can never change is cached.
    """

    def __init__(
        self,
        agents: Mapping[str, AgentSettings],
        *,
        default: str,
        rules: Mapping[str, AgentRuleSettings] | None = None,
        channels: Mapping[str, ChannelSettings] | None = None,
        stored: StoredAgents | None = None,
    ) -> None:
        self._agents = {key: Agent(key, settings, key) for key, settings in agents.items()}
        self._default = default
        self._rules = rules_of(rules or {}, channels or {})
        self._stored = stored
        # The settings of versions by agent and number.
        self._definitions: dict[tuple[str, int], Definition] = {}
        self.asks_for_people = any(rule.names_a_person for rule in self._rules)

    @property
    def default(self) -> Agent:
        """The agent that answers if no rule names another."""
        return self.configured(self._default)

    @property
    def in_file(self) -> tuple[Agent, ...]:
        """The agents of config.yaml."""
        return tuple(self._agents.values())

    async def answering(self, *, limit: int) -> tuple[Agent, ...]:
        """Return the agents that answer now: those of config.yaml, and so many of the others."""
        return await self.listed(limit=limit, state="ready")

    async def listed(self, *, limit: int, state: AgentState | None = None) -> tuple[Agent, ...]:
        """Return the agents of config.yaml, and so many of the others, of one state or of any."""
        if self._stored is None:
            return self.in_file
        found = await self._stored.page(limit=limit, state=state)
        return (*self.in_file, *map(self.of_record, found))

    async def for_event(self, event: MessageEvent, *, person_id: str | None = None) -> Agent:
        """Return the agent named by the event, else by the best rule, else the default."""
        if event.agent:
            return await self.get(event.agent)
        return self.for_source(event.source, person_id=person_id)

    def for_source(self, source: Source, *, person_id: str | None = None) -> Agent:
        """Return the agent of the most specific rule, else the default one."""
        rule = self.rule_for(source, person_id=person_id)
        return self.configured(self._default if rule is None else rule.agent)

    def rule_for(self, source: Source, *, person_id: str | None = None) -> AgentRule | None:
        """Return the most specific rule that matches, or None."""
        return choose(self._rules, source, person_id=person_id) if self._rules else None

    def configured(self, key: str) -> Agent:
        """Return an agent of config.yaml; raises `NotFound` with the names of those."""
        agent = self._agents.get(key)
        if agent is None:
            raise self._unknown(key)
        return agent

    async def find(self, name: str) -> Agent | None:
        """Return the agent of a key or a name; an agent of config.yaml comes first."""
        own = self._agents.get(name)
        if own is not None or self._stored is None or not name:
            return own
        record = await self._stored.find(name)
        return None if record is None else self.of_record(record)

    async def get(self, name: str) -> Agent:
        """Return the agent of a key or a name; raises `NotFound` with the known ones."""
        agent = await self.find(name)
        if agent is None:
            raise self._unknown(name)
        return agent

    async def at_version(self, key: str, version: int) -> Agent | None:
        """Return an agent as it was at a version; as it is now if that version is not kept.

        An agent of config.yaml has only the version 0.
        """
        agent = await self.find(key)
        if agent is None or self._stored is None or version in (0, agent.version):
            return agent
        kept = await self._stored.version(agent.key, version)
        if kept is None:
            return agent
        made = self._define(agent.key, version, kept.document)
        return msgspec.structs.replace(
            agent, settings=made.settings, version=version, shared=made.shared
        )

    def of_record(self, record: AgentRecord) -> Agent:
        """Return a stored agent as it is now."""
        made = self._define(record.id, record.version, record.document)
        return Agent(
            record.id,
            made.settings,
            record.name,
            state=record.state,
            reason=record.reason,
            version=record.version,
            shared=made.shared,
        )

    def _define(self, key: str, version: int, document: bytes) -> Definition:
        known = self._definitions.get((key, version))
        if known is None:
            known = define(read_document(document))
            if len(self._definitions) >= _DEFINITIONS_KEPT:
                self._definitions.clear()
            self._definitions[key, version] = known
        return known

    def _unknown(self, name: str) -> NotFound:
        known = ", ".join(sorted(self._agents))
        more = "" if self._stored is None else "; `hermes agents list` shows all"
        return NotFound(f"There is no agent {name[:100]!r}; known agents: {known}{more}")
