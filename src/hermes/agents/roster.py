"""The agents of this gateway by name, and which of them answers an event."""

from collections.abc import Mapping

import msgspec

from hermes.agents.rules import AgentRule, choose, rules_of
from hermes.config import AgentRuleSettings, AgentSettings
from hermes.errors import NotFound
from hermes.message.event import MessageEvent
from hermes.message.source import Source


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
        """The agent that answers where no rule names another."""
        return self.get(self._default)

    def for_event(self, event: MessageEvent, *, person_id: str | None = None) -> Agent:
        """Return the agent that the event names, else that of the closest rule, else the default."""
        if event.agent:
            return self.get(event.agent)
        return self.for_source(event.source, person_id=person_id)

    def for_source(self, source: Source, *, person_id: str | None = None) -> Agent:
        """Return the agent of the closest rule, else the default one."""
        rule = self.rule_for(source, person_id=person_id)
        return self.get(self._default if rule is None else rule.agent)

    def rule_for(self, source: Source, *, person_id: str | None = None) -> AgentRule | None:
        """Return the closest rule that fits, if there is one."""
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
