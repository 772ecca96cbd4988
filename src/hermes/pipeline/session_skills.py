"""The skills of a turn: which there are, the block that lists them, and what has changed of them.

The block is frozen with the session's first turn. What changes later is a note beside a message.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from hermes.pipeline.needs import HasToolSets
from hermes.pipeline.turn import Turn
from hermes.skills.bindings import (
    NONE_LISTED,
    ListedSkills,
    catalogue,
    catalogue_news,
    is_catalogue,
)
from hermes.skills.book import SkillBook


class SkillServices(HasToolSets, Protocol):
    """The skills of the home, and the tools, of which one reads them."""

    @property
    def skills(self) -> SkillBook | None: ...


def with_skills(
    turn: Turn, services: SkillServices, *, is_private: bool
) -> tuple[Turn, tuple[str, ...]]:
    """Return the turn with its skills, and the block for a session that begins.

    What is bound to the person counts only if the conversation `is_private`.
    """
    book = services.skills
    if book is None:
        return turn, ()
    found = book.of(
        turn.agent.settings,
        turn.event.source,
        person_id=turn.person_id,
        is_private=is_private,
    )
    if not found.names:
        return turn, ()
    turn = msgspec.structs.replace(turn, skills=found.names)
    return turn, catalogue(_listed(turn, services), own=found.own)


def skill_news(
    turn: Turn, services: SkillServices, *, notes: Callable[[Turn], tuple[str, ...]]
) -> tuple[str, ...]:
    """Return how the skills have changed since the model was last informed."""
    book = services.skills
    if book is None or (book.is_empty and not any(map(is_catalogue, turn.system))):
        return ()
    return catalogue_news(_listed(turn, services), blocks=turn.system, notes=notes(turn))


def _listed(turn: Turn, services: SkillServices) -> ListedSkills:
    """Return what the model is told of: nothing if its agent may not read skills."""
    if services.skills is None or not turn.skills:
        return NONE_LISTED
    tools = services.tool_sets.of(
        turn.agent.settings.tools, turn.event.source.platform, has_skills=True
    ).tools
    if not any(one.traits.reads_skills for one in tools):
        return NONE_LISTED
    return services.skills.described(turn.skills)
