"""The agents of this gateway by name, and which of them answers an event."""

from collections.abc import Mapping

import msgspec

from hermes.config import AgentSettings
from hermes.errors import NotFound
from hermes.message.event import MessageEvent


class Agent(msgspec.Struct, frozen=True):
    """One agent: its name in keys and configuration, and its settings."""

    key: str
    settings: AgentSettings


class Roster:
    """All configured agents."""

    def __init__(self, agents: Mapping[str, AgentSettings], *, default: str) -> None:
        self._agents = {key: Agent(key, settings) for key, settings in agents.items()}
        self._default = default

    @property
    def default(self) -> Agent:
        """The agent that answers where no rule names another."""
        return self.get(self._default)

    def for_event(self, event: MessageEvent) -> Agent:
        """Return the agent that the event names, or the default one."""
        return self.get(event.agent or self._default)

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
