"""The skills of a home: where they are bound, what they are called, and the functions for orders about them."""

from collections.abc import Callable, Collection
from pathlib import Path

import structlog

from hermes.agents.roster import Roster
from hermes.config import LoadedConfig, Settings
from hermes.control.skills import SkillOperations
from hermes.ports.clock import Clock, SystemClock
from hermes.ports.cron import CronOrigin
from hermes.schedule.schedules import RunsSkill
from hermes.sessions.commands import CommandBook, is_command_word
from hermes.skills.bindings import ALL, SkillBindings
from hermes.skills.book import SkillBook
from hermes.skills.folder import Skill, SkillFolder

_log = structlog.get_logger(__name__)


def make_skills(
    settings: Settings, *, home: Path, clock: Clock, plugged: Collection[str] = ()
) -> SkillBook:
    """Return the skills of a home; `plugged` are the commands of plugins."""
    terminal = settings.terminal
    return SkillBook(
        SkillFolder(home, is_command=_is_taken(plugged), clock=clock, tell=_warn),
        SkillBindings(settings.skills.bindings, settings.channels),
        most_listed=settings.skills.listed,
        terminal=terminal.sandbox if terminal.enabled else None,
    )


def make_skill_folder(home: Path, *, clock: Clock) -> SkillFolder:
    """Return the folder `skills/` of a home, for commands."""
    return SkillFolder(home, is_command=is_command_word, clock=clock)


def warn_of_missing(settings: Settings, book: SkillBook) -> None:
    """Log the skills that the settings name and that cannot be used."""
    named = {key: agent.skills for key, agent in settings.agents.items() if agent.skills}
    bound = {key: one.skills for key, one in settings.skills.bindings.items()}
    chats = {
        f"{channel}.chats.{chat}": one.skills
        for channel, chosen in settings.channels.items()
        for chat, one in chosen.chats.items()
    }
    for places, head in ((named, "agents"), (bound, "skills.bindings"), (chats, "platforms")):
        for key, names in places.items():
            for name in names:
                if name != ALL and book.folder.get(name) is None:
                    _log.warning("skill_missing", skill=name, setting=f"{head}.{key}.skills")


def make_skill_operations(
    settings: Settings, folder: SkillFolder, roster: Roster
) -> SkillOperations:
    """Return the functions for operators' orders about skills."""
    return SkillOperations(folder, settings, roster)


def make_skill_check(book: SkillBook | None, roster: Roster) -> RunsSkill:
    """Return what says whether the text of a scheduled job runs a skill of its conversation."""
    commands = None if book is None else CommandBook(late=book.command)

    async def runs_skill(text: str, origin: CronOrigin) -> bool:
        written = None if commands is None else commands.read(text)
        if book is None or written is None or written.spec is None or not written.spec.is_skill:
            return False
        source = origin.source
        person_id = origin.person_id
        chosen = await roster.get(origin.agent) if origin.agent else None
        agent = chosen or roster.for_source(source, person_id=person_id)
        is_private = source.chat_type == "dm" and source.thread_id is None
        found = book.of(agent.settings, source, person_id=person_id, is_private=is_private)
        return written.name in found.names

    return runs_skill


def skills_alone(loaded: LoadedConfig) -> SkillOperations:
    """Return the functions for a home in which nothing is stored yet."""
    settings = loaded.settings
    roster = Roster(
        settings.agents,
        default=settings.default_agent,
        rules=settings.agent_rules,
        channels=settings.channels,
    )
    return make_skill_operations(
        settings, make_skill_folder(loaded.home, clock=SystemClock()), roster
    )


def _warn(skill: Skill) -> None:
    _log.warning("skill_unusable", skill=skill.name, problem=skill.problem)


def _is_taken(plugged: Collection[str]) -> Callable[[str], bool]:
    return lambda word: is_command_word(word) or word in plugged
