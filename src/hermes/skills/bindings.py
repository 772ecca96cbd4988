"""Which skills a conversation has, and how its model learns of them. Pure.

A skill is there only where it is named: by the agent, or by a binding whose conditions the message
meets. What is bound to a person is never there while others read along.
"""

import html
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from hermes.agents.roster import chat_asks, meets
from hermes.config import ChannelSettings, SkillBindingSettings, conditions
from hermes.message.source import Source
from hermes.tools.mcp.clean_text import one_line

ALL: Final = "*"
_PERSON: Final = "person"
# The line of a longer one would be an instruction of its own.
_LONGEST: Final = 1_024
_HEADER: Final = (
    "Skills: instructions for kinds of work. Before you do such work, call read_skill with the skill's "
    "name, and follow what it returns. A line below only says when a skill is of use:"
)
_OWN_HEADER: Final = f"For this person. {_HEADER}"
_CHANGED: Final = (
    "The skills have changed. These are all that there are now; the rest is as before:"
)
_NONE: Final = "- none"
_LONGEST_NAMES: Final = 2_000
# In every text that lists skills.
_MARK: Final = "kills"


class _Binding(msgspec.Struct, frozen=True):
    """One binding: its conditions on a message, and its skills."""

    asks: tuple[tuple[str, str], ...]
    skills: tuple[str, ...]

    @property
    def is_persons(self) -> bool:
        """Whether it depends on the person."""
        return any(field == _PERSON for field, _ in self.asks)


class BoundSkills(msgspec.Struct, frozen=True):
    """The skills of a conversation, in order; `own` if some are there for its person alone."""

    names: tuple[str, ...] = ()
    own: bool = False


NO_SKILLS: Final = BoundSkills()


class ListedSkills(msgspec.Struct, frozen=True):
    """What a model is told of its skills: the descriptions of some, by name, and the names of the rest."""

    lines: Mapping[str, str] = MappingProxyType({})
    others: tuple[str, ...] = ()


NONE_LISTED: Final = ListedSkills()


class SkillBindings:
    """The bindings of the settings."""

    def __init__(
        self,
        settings: Mapping[str, SkillBindingSettings],
        channels: Mapping[str, ChannelSettings] = MappingProxyType({}),
    ) -> None:
        bindings = [_Binding(conditions(one), one.skills) for one in settings.values()]
        bindings += [
            _Binding(chat_asks(name, chat), one.skills)
            for name, chosen in channels.items()
            for chat, one in chosen.chats.items()
        ]
        self._bindings = tuple(one for one in bindings if one.skills)

    def named(
        self, agent: Iterable[str], source: Source, *, person_id: str, is_private: bool
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return what is named for everybody in a conversation, and what for its person alone."""
        met = [one for one in self._bindings if meets(one.asks, source, person_id=person_id)]
        common = {name for one in met if not one.is_persons for name in one.skills}
        own = {name for one in met if one.is_persons and is_private for name in one.skills}
        return frozenset((*agent, *common)), frozenset(own)


def bound(common: frozenset[str], own: frozenset[str], usable: Iterable[str]) -> BoundSkills:
    """Return the usable skills that are named."""
    names = tuple(name for name in usable if not {ALL, name}.isdisjoint(common | own))
    return BoundSkills(names, any({ALL, name}.isdisjoint(common) for name in names))


def catalogue(skills: ListedSkills, *, own: bool) -> tuple[str, ...]:
    """Return the system block that lists skills with their descriptions; none without skills."""
    lines = _lines(skills)
    return ("\n".join((_OWN_HEADER if own else _HEADER, *lines)),) if lines else ()


def catalogue_news(
    skills: ListedSkills, *, blocks: Iterable[str], notes: Iterable[str]
) -> tuple[str, ...]:
    """Return what a session must be told because its skills have changed: one text, or none.

    What it was told so far is read from its own blocks and notes, so that its beginning stays as it is.
    """
    told = tuple[str, ...]()
    for text in (*blocks, *notes):
        if _MARK not in text:
            continue
        for section in text.split("\n\n"):
            if section.startswith((_HEADER, _OWN_HEADER, _CHANGED)):
                told = tuple(line for line in section.split("\n")[1:] if line != _NONE)
    now = _lines(skills)
    return () if now == told else ("\n".join((_CHANGED, *(now or (_NONE,)))),)


def is_catalogue(block: str) -> bool:
    """Return whether a block lists skills."""
    return block.startswith((_HEADER, _OWN_HEADER))


def is_common_catalogue(block: str) -> bool:
    """Return whether a block lists skills, and none that is there for one person alone."""
    return block.startswith(_HEADER)


def shown_description(text: str) -> str:
    """Return a description on one line and without markup: whoever wrote it is not trusted."""
    return html.escape(one_line(text, _LONGEST), quote=False)


def _lines(skills: ListedSkills) -> tuple[str, ...]:
    lines = tuple(f"- {name}: {shown_description(text)}" for name, text in skills.lines.items())
    if not skills.others:
        return lines
    names = ", ".join(skills.others)
    shown = (
        names
        if len(names) <= _LONGEST_NAMES
        else f"{names[:_LONGEST_NAMES].rpartition(', ')[0]}, ..."
    )
    return (*lines, f"- {len(skills.others)} older ones, without a line here: {shown}")
