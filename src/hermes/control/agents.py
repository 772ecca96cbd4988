"""`hermes agents list`: the agents of the configuration, and which messages each of them answers."""

import msgspec

from hermes.agents.roster import AgentRule, rules_of
from hermes.config import AgentSettings, Settings


class AgentLine(msgspec.Struct, frozen=True, kw_only=True):
    """An agent; `agent` is its name in the configuration, `name` what it calls itself.

    `model` is empty where the gateway's default counts, `rules` say which messages it answers.
    """

    agent: str
    name: str
    is_default: bool
    model: str
    tools: tuple[str, ...]
    description: str
    rules: tuple[str, ...] = ()


class AgentsReport(msgspec.Struct, frozen=True, kw_only=True):
    """All agents, the default one first."""

    agents: tuple[AgentLine, ...] = ()


class AgentOperations:
    """Answers questions about the agents."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def list(self) -> AgentsReport:
        """Return every agent."""
        return agents_report(self._settings)

    async def names(self) -> tuple[str, ...]:
        """Return the names of the agents in the configuration, the default one first."""
        return tuple(one.agent for one in (await self.list()).agents)


def agents_report(settings: Settings) -> AgentsReport:
    """Return the agents of the settings."""
    rules = rules_of(settings.agent_rules)
    names = sorted(settings.agents, key=lambda name: (name != settings.default_agent, name))
    return AgentsReport(
        agents=tuple(
            _line(name, settings.agents[name], rules=rules, default=settings.default_agent)
            for name in names
        )
    )


def _line(
    key: str, agent: AgentSettings, *, rules: tuple[AgentRule, ...], default: str
) -> AgentLine:
    return AgentLine(
        agent=key,
        name=agent.name,
        is_default=key == default,
        model=agent.model or (f"tier {agent.tier}" if agent.tier else ""),
        tools=agent.tools,
        description=agent.description or agent.role,
        rules=tuple(_rule_text(rule) for rule in rules if rule.agent == key),
    )


def _rule_text(rule: AgentRule) -> str:
    return f"{rule.name}: {', '.join(f'{field} {value}' for field, value in rule.asks)}"
