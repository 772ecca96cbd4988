"""The agents of this gateway by name, and which of them answers an event."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from hermes.config import AgentRuleSettings, AgentSettings, conditions
from hermes.errors import NotFound
from hermes.message.event import MessageEvent
from hermes.message.source import Source

_PERSON_ID = "p_"
_CLOSENESS = ("person", "thread", "chat", "guild", "chat_type", "platform")
_Fits = Callable[[str, Source, str | None], bool]


class AgentRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: its name, its agent, and its conditions on a message."""

    name: str
    agent: str
    asks: tuple[tuple[str, str], ...]

    @property
    def names_a_person(self) -> bool:
        """Whether the rule depends on the person."""
        return any(field == "person" and _is_person_id(value) for field, value in self.asks)


def rules_of(settings: Mapping[str, AgentRuleSettings]) -> tuple[AgentRule, ...]:
    """Return the configured rules, the most specific first."""
    rules = [
        AgentRule(name=name, agent=rule.agent or "", asks=conditions(rule))
        for name, rule in settings.items()
    ]
    return tuple(sorted(rules, key=_distance))


def choose(
    rules: Iterable[AgentRule], source: Source, *, person_id: str | None
) -> AgentRule | None:
    """Return the first rule that matches a message."""
    for rule in rules:
        if all(_FITS[field](value, source, person_id) for field, value in rule.asks):
            return rule
    return None


def _distance(rule: AgentRule) -> tuple[bool, ...]:
    asked = {field for field, _ in rule.asks}
    return tuple(field not in asked for field in _CLOSENESS)


def _is_person(value: str, source: Source, person_id: str | None) -> bool:
    if _is_person_id(value):
        return value == person_id
    return value == f"{source.platform}:{source.user_id}"


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
    "platform": lambda value, source, _: source.platform == value,
}


class Agent(msgspec.Struct, frozen=True):
    """One agent: its name in keys and configuration, and its settings."""

    key: str
    settings: AgentSettings


class Roster:
    """All configured agents."""

    def __init__(
        self,
        agents: Mapping[str, AgentSettings],
        *,
        default: str,
        rules: Mapping[str, AgentRuleSettings] | None = None,
    ) -> None:
        self._agents = {key: Agent(key, settings) for key, settings in agents.items()}
        self._default = default
        self._rules = rules_of(rules or {})
        self.asks_for_people = any(rule.names_a_person for rule in self._rules)

    @property
    def default(self) -> Agent:
        """The agent that answers if no rule names another."""
        return self.get(self._default)

    def for_event(self, event: MessageEvent, *, person_id: str | None = None) -> Agent:
        """Return the agent named by the event, else by the best rule, else the default."""
        if event.agent:
            return self.get(event.agent)
        return self.for_source(event.source, person_id=person_id)

    def for_source(self, source: Source, *, person_id: str | None = None) -> Agent:
        """Return the agent of the most specific rule, else the default one."""
        rule = self.rule_for(source, person_id=person_id)
        return self.get(self._default if rule is None else rule.agent)

    def rule_for(self, source: Source, *, person_id: str | None = None) -> AgentRule | None:
        """Return the most specific rule that matches, or None."""
        return choose(self._rules, source, person_id=person_id) if self._rules else None

    def find(self, key: str) -> Agent | None:
        """Return one agent, if it is configured."""
        return self._agents.get(key)

    def get(self, key: str) -> Agent:
        """Return one agent; an unknown name raises `NotFound` with the known ones."""
        agent = self._agents.get(key)
        if agent is None:
            known = ", ".join(sorted(self._agents))
            raise NotFound(f"there is no agent {key!r}; known agents: {known}")
        return agent
