"""When a conversation is summed up and by what, for one agent; pure."""

import math

import msgspec

from hermes.config import AgentSettings, Settings

# Made once: a turn asks several times.
_UNKNOWN = AgentSettings()
# Summing up less than one part in so many of the room would be done again after the next message.
_LEAST_PART = 16
# A summary takes at most one part in so many of the room.
_SUMMARY_PART = 6
_LEAST_SUMMARY = 100


class CompactionRules(msgspec.Struct, frozen=True, kw_only=True):
    """The settings `compaction` with what the agent does differently."""

    on: bool
    at: float
    keep: float
    max_tokens: int
    summary_tokens: int
    own_model: bool
    model: str | None

    def due_tokens(self, room: int, *, fixed: int = 0) -> int:
        """Return from how many tokens of a prompt on its conversation is to be summed up.

        `fixed` are those that every prompt has: the conversation shares the rest of the room.
        """
        return math.ceil(min(fixed + self.at * max(0, room - fixed), self.max_tokens))

    def kept_tokens(self, room: int, *, said: int) -> int:
        """Return how many tokens of the newest messages stay word for word, of so many `said`.

        Where other things take much of the room, fewer than the settings say: otherwise the
        messages that stay would nearly fill it again.
        """
        keep = min(self.keep, self.at)
        return int(min(keep * min(room, self.max_tokens), keep / self.at * said))

    def is_worthwhile(self, room: int, *, said: int) -> bool:
        """Return whether enough of the messages would be summed up."""
        least = min(room, self.max_tokens) // _LEAST_PART
        return said - self.kept_tokens(room, said=said) >= least

    def summary_limit(self, room: int) -> int:
        """Return how many tokens a summary may have for a model with so much room."""
        return min(self.summary_tokens, max(_LEAST_SUMMARY, room // _SUMMARY_PART))


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
