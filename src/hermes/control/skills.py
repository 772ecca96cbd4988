"""Skills as operators list, show, add and remove them.

A skill is added as an archive, so that what is written is what the operator was shown.
"""

import asyncio
import base64
import binascii
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
import structlog
from msgspec import Meta

from hermes.agents.roster import Roster
from hermes.config import Settings
from hermes.errors import BadRequest, NotFound
from hermes.lazy import lazy
from hermes.skills.bindings import ALL
from hermes.skills.folder import Skill, SkillFolder
from hermes.skills.package import MOST_PACKED, SkillPackage
from hermes.skills.skill_file import FILE, SkillFile

if TYPE_CHECKING:
    from hermes.skills.archive import unpack
else:
    unpack = lazy("hermes.skills.archive:unpack")

_log = structlog.get_logger(__name__)
_MOST_AGENTS: Final = 1_000
# Base64 writes four letters for three bytes.
_MOST_LETTERS: Final = MOST_PACKED * 4 // 3 + 4


class SkillAsk(msgspec.Struct, frozen=True, kw_only=True):
    """A skill, by its name."""

    name: str


class SkillOrder(SkillAsk, frozen=True, kw_only=True):
    """An order about a skill."""

    by: str = ""


class NewSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill to add: a zip or tar archive of its folder, in base64."""

    archive: Annotated[str, Meta(max_length=_MOST_LETTERS)]
    by: str = ""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.archive)} letters)"


class SkillLine(msgspec.Struct, frozen=True, kw_only=True):
    """A skill; one with a `problem` is not used. `used_by` are the agents and bindings that name it."""

    name: str
    description: str
    folder: str
    problem: str = ""
    used_by: tuple[str, ...] = ()


class SkillsReport(msgspec.Struct, frozen=True, kw_only=True):
    """The skills of a home by name; `missing` are those that are named and are not there."""

    skills: tuple[SkillLine, ...] = ()
    missing: tuple[str, ...] = ()


class SkillPart(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a skill."""

    path: str
    size: int


class SkillReport(SkillLine, frozen=True, kw_only=True):
    """A skill with its instructions and the list of its files."""

    license: str = ""
    compatibility: str = ""
    metadata: dict[str, str] = {}
    allowed_tools: tuple[str, ...] = ()
    instructions: str = ""
    files: tuple[SkillPart, ...] = ()


class RemovedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill that is removed now; `used_by` still name it."""

    name: str
    used_by: tuple[str, ...] = ()


class SkillOperations:
    """Where orders about skills arrive."""

    def __init__(self, folder: SkillFolder, settings: Settings, roster: Roster) -> None:
        self._folder = folder
        self._settings = settings
        self._roster = roster

    async def list(self) -> SkillsReport:
        """Return the skills, and who uses them."""
        skills = await asyncio.to_thread(self._folder.skills)
        users = await self._users()
        named = {name for _, names in users for name in names} - {ALL}
        return SkillsReport(
            skills=tuple(_line(one, users) for one in skills.values()),
            missing=tuple(sorted(named - skills.keys())),
        )

    async def show(self, ask: SkillAsk) -> SkillReport:
        """Return a skill with what it says."""
        return await self._report(await self._found(ask.name))

    async def add(self, new: NewSkill) -> SkillReport:
        """Write a skill to the home; it can be used at once where it is named."""
        package = await asyncio.to_thread(_unpacked, new.archive)
        skill = await asyncio.to_thread(self._folder.add, package)
        _log.info("skill_added", name=skill.name, by=new.by)
        return await self._report(skill)

    async def remove(self, order: SkillOrder) -> RemovedSkill:
        """Remove a skill; conversations that have read it keep what they read."""
        skill = await asyncio.to_thread(self._folder.remove, order.name)
        _log.info("skill_removed", name=skill.name, by=order.by)
        return RemovedSkill(name=skill.name, used_by=_used_by(skill.name, await self._users()))

    async def _found(self, name: str) -> Skill:
        skills = await asyncio.to_thread(self._folder.skills)
        if name not in skills:
            known = ", ".join(skills) or "none"
            raise NotFound(f"There is no skill {name[:64]!r}; the skills are: {known}.")
        return skills[name]

    async def _report(self, skill: Skill) -> SkillReport:
        line = msgspec.structs.asdict(_line(skill, await self._users()))
        if skill.problem:
            return SkillReport(**line)
        file, files = await asyncio.to_thread(self._read, skill.name)
        return msgspec.structs.replace(_said(file), **line, files=files)

    def _read(self, name: str) -> tuple[SkillFile, tuple[SkillPart, ...]]:
        files = self._folder.files(name)
        parts = tuple(SkillPart(path=one.path, size=one.size) for one in files if one.path != FILE)
        return self._folder.file(name), parts

    async def _users(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return who names which skills: agents, and bindings."""
        agents = await self._roster.listed(limit=_MOST_AGENTS)
        bindings = self._settings.skills.bindings.items()
        return (
            *((f"agent {one.name}", one.settings.skills) for one in agents if one.settings.skills),
            *((f"skills.bindings.{name}", one.skills) for name, one in bindings if one.skills),
        )


def report_of(package: SkillPackage) -> SkillReport:
    """Return a skill that is not added yet, as an operator is shown it before."""
    parts = (SkillPart(path=one.path, size=len(one.content)) for one in package.files)
    return msgspec.structs.replace(
        _said(package.file), files=tuple(one for one in parts if one.path != FILE)
    )


def _said(file: SkillFile) -> SkillReport:
    """Return what a SKILL.md says."""
    return SkillReport(
        name=file.name,
        description=file.description,
        folder="",
        license=file.license,
        compatibility=file.compatibility,
        metadata=dict(file.metadata),
        allowed_tools=file.allowed_tools,
        instructions=file.body,
    )


def _unpacked(archive: str) -> SkillPackage:
    try:
        return unpack(base64.b64decode(archive, validate=True))
    except (binascii.Error, ValueError):
        raise BadRequest("The field 'archive' is not base64.") from None


def _line(skill: Skill, users: tuple[tuple[str, tuple[str, ...]], ...]) -> SkillLine:
    return SkillLine(
        name=skill.name,
        description=skill.description,
        folder=str(skill.folder),
        problem=skill.problem,
        used_by=_used_by(skill.name, users),
    )


def _used_by(name: str, users: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...]:
    return tuple(user for user, names in users if ALL in names or name in names)
