"""Which skills a conversation has, and what it gets of them: the line, the instructions, the files."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from hermes.config import AgentSettings
from hermes.errors import BadRequest, NotFound
from hermes.message.source import Source
from hermes.sessions.commands import CommandSpec
from hermes.skills.bindings import (
    NO_SKILLS,
    BoundSkills,
    ListedSkills,
    SkillBindings,
    bound,
    shown_description,
)
from hermes.skills.folder import FOLDER, SkillFolder
from hermes.skills.skill_file import FILE
from hermes.tools.terminal.sandbox import SandboxKind

_LONGEST_ABOUT: Final = 120


class SkillBook:
    """The skills of a home and where each is bound; nothing is read where none is named.

    A model is given a line of `most_listed` skills, and of more the names. `terminal` is how programs run here, None if none do: then the scripts of a skill are only texts.
    """

    def __init__(
        self,
        folder: SkillFolder,
        bindings: SkillBindings,
        *,
        most_listed: int,
        terminal: SandboxKind | None,
    ) -> None:
        self._most_listed = most_listed
        self.folder = folder
        self._bindings = bindings
        self._terminal = terminal

    def of(
        self, agent: AgentSettings, source: Source, *, person_id: str, is_private: bool
    ) -> BoundSkills:
        """Return the skills of a conversation; `is_private` if nobody else reads along."""
        common, own = self._bindings.named(
            agent.skills, source, person_id=person_id, is_private=is_private
        )
        return bound(common, own, self.folder.usable()) if common or own else NO_SKILLS

    @property
    def is_empty(self) -> bool:
        """Whether the home has no skills."""
        return not self.folder.skills()

    def described(self, names: Iterable[str]) -> ListedSkills:
        """Return the descriptions of skills that can be used; of the newest ones, if there are too many."""
        looked_up = ((name, self.folder.get(name)) for name in names)
        found = {name: skill for name, skill in looked_up if skill is not None}
        newest = sorted(found.values(), key=lambda one: (-one.changed_ns, one.name))
        listed = {one.name for one in newest[: self._most_listed]}
        return ListedSkills(
            {name: skill.description for name, skill in found.items() if name in listed},
            tuple(name for name in found if name not in listed),
        )

    def command(self, word: str) -> CommandSpec | None:
        """Return the command that runs a skill; `_` may stand for `-`, as some chats need it."""
        skill = self.folder.get(word.replace("_", "-"))
        if skill is None:
            return None
        line = shown_description(skill.description)
        about = line if len(line) <= _LONGEST_ABOUT else f"{line[: _LONGEST_ABOUT - 1]}…"
        return CommandSpec(name=skill.name, about=about, use="[TEXT]", is_skill=True)

    def instructions(self, name: str) -> str:
        """Return what a skill says, with the names of its further files."""
        said = self.folder.file(name)
        files = [one for one in self.folder.files(name) if one.path != FILE]
        lines = [f"- {one.path} ({one.size:,} bytes)" for one in files]
        about = self._about_files(name)
        return "\n".join((said.body, "", about, *lines)) if lines else said.body

    def folders(self, names: Iterable[str]) -> Mapping[str, Path]:
        """Return the folders of skills, for programs to read; without those that others could change."""
        found = ((name, self.folder.checked_folder(name)) for name in names)
        return {name: folder for name, folder in found if folder is not None}

    def text(self, name: str, path: str) -> str:
        """Return a further file of a skill as text; raises `BadRequest` for one that is none."""
        data = self.folder.read(name, path)
        if b"\0" in data[:1_024]:
            raise BadRequest(f"{path[:200]} of the skill {name} is no text.")
        return data.decode(errors="replace")

    def _about_files(self, name: str) -> str:
        told = f"Files of the skill {name}, which read_skill returns with `file`"
        if self._terminal is None:
            return f"{told}:"
        place = f"/{FOLDER}/{name}" if self._terminal == "bubblewrap" else self._place(name)
        return f"{told}; programs of the terminal find them in {place} and cannot change them:"

    def _place(self, name: str) -> str:
        skill = self.folder.get(name)
        if skill is None:
            raise NotFound(f"There is no skill {name[:64]!r}.")
        return str(skill.folder)
