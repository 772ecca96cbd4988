"""The system block that names the agents to which an agent may give tasks."""

from typing import Final, Protocol

from hermes.agents.roster import Agent
from hermes.pipeline.teams import EVERY_AGENT
from hermes.pipeline.turn import Turn

_MOST: Final = 50
_ABOUT_CHARS: Final = 200


class TeamRoster(Protocol):
    """Finds agents, and lists those that answer."""

    async def find(self, name: str, /) -> Agent | None: ...
    async def answering(self, *, limit: int) -> tuple[Agent, ...]: ...


async def team_block(turn: Turn, roster: TeamRoster) -> tuple[str, ...]:
    """Return the block about the team of a turn's agent; nothing if it has none."""
    named = turn.agent.settings.delegates
    if not named:
        return ()
    if EVERY_AGENT in named:
        found = await roster.answering(limit=_MOST)
    else:
        known = [await roster.find(name) for name in named[:_MOST]]
        found = tuple(agent for agent in known if agent is not None)
    lines = [_line(agent) for agent in found[:_MOST] if agent.key != turn.agent.key]
    if not lines:
        return ()
    return ("\n".join(("You may give tasks to these workspaces with delegate_task:", *lines)),)


def _line(agent: Agent) -> str:
    about = " ".join((agent.settings.description or agent.settings.role).split())
    return f"- {agent.name or agent.key}: {about[:_ABOUT_CHARS]}"
