"""When a conversation is summed up and by what, for one agent; pure."""

import math

import msgspec

from hermes.config import AgentSettings, Settings

# Made once: a turn asks several times.
_UNKNOWN = AgentSettings()


class CompactionRules(msgspec.Struct, frozen=True, kw_only=True):
    """The settings `compaction` with what the agent does differently."""

    on: bool
    at: float
    keep: float
    max_tokens: int
    summary_tokens: int
    own_model: bool
    model: str | None

    def due_tokens(self, room: int) -> int:
        """Return from how many tokens on a conversation is to be summed up."""
        return math.ceil(min(self.at * room, self.max_tokens))

    def kept_tokens(self, room: int) -> int:
        """Return how many tokens of the newest messages stay word for word."""
        most = min(self.keep, self.at) * min(room, self.max_tokens)
        return int(most)


def rules_of(settings: Settings, agent: str) -> CompactionRules:
    """Return the rules of an agent."""
    common = settings.compaction
    own = settings.agents.get(agent, _UNKNOWN).compaction
    return CompactionRules(
        on=common.enabled if own.enabled is None else own.enabled,
        at=common.at if own.at is None else own.at,
        keep=common.keep if own.keep is None else own.keep,
        max_tokens=common.max_tokens,
        summary_tokens=common.summary_tokens,
        own_model=common.own_model if own.own_model is None else own.own_model,
        model=own.model or common.model,
    )


def is_on_anywhere(settings: Settings) -> bool:
    """Return whether any agent's conversations are summed up."""
    agents = [one.compaction.enabled for one in settings.agents.values()]
    return settings.compaction.enabled or any(agents)
