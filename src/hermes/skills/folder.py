"""The skills of a home: the folders in `skills/`, what is wrong with them, and their files.

A folder is looked at again when skills are used, so a change on disk counts within a second. The rule of
owners and modes is that for code: what others could change is not used. No link is followed.
"""

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec
import structlog

from hermes.config.code_files import code_problem, folder_problem
from hermes.durable_file import sync_folder
from hermes.errors import BadRequest, Conflict, NotFound, Refused
from hermes.ports.clock import Clock
from hermes.ports.work_files import WorkFile
from hermes.skills.package import PackedFile, SkillPackage
from hermes.skills.skill_file import FILE, MOST_BYTES, SkillFile, is_skill_name, read_skill_file
from hermes.tools.terminal.files_beneath import FilesBeneath

FOLDER: Final = "skills"
MOST_SKILLS: Final = 200
_MOST_READ: Final = 1_000_000
_MOST_LISTED: Final = 100
_LOOK_S: Final = 1.0
_DRAFT: Final = re.compile(r"\.[a-z0-9-]+\.[0-9a-f]{16}\.part")
_TOO_MANY: Final = (
    f"There are more than {MOST_SKILLS} skills: this one and those behind it are not read."
)
_log = structlog.get_logger(__name__)
# What a folder and its SKILL.md look like on disk; another value says that something changed.
_Marks = tuple[tuple[int, ...], ...]


class Skill(msgspec.Struct, frozen=True, kw_only=True):
    """One folder: its name, what its SKILL.md says, and when that changed. One with a `problem` is not
    used."""

    name: str
    folder: Path
    description: str = ""
    changed_ns: int = 0
    problem: str = ""


def tell_nobody(_skill: Skill) -> None:
    """Do nothing; used by commands, which show problems themselves."""


class _Seen(msgspec.Struct, frozen=True):
    """A skill as it was when its files looked so."""

    marks: _Marks
    skill: Skill


class SkillFolder:
    """Finds, reads, adds and removes skills.

    `is_command` says which names are commands already; `tell` hears of each skill that cannot be used.
    """

    def __init__(
        self,
        home: Path,
        *,
        is_command: Callable[[str], bool],
        clock: Clock,
        tell: Callable[[Skill], None] = tell_nobody,
    ) -> None:
        self._tell = tell
        self._home = home
        self._root = home / FOLDER
        self._is_command = is_command
        self._clock = clock
        self._looked_at: float | None = None
        self._seen: dict[str, _Seen] = {}
        self._skills: Mapping[str, Skill] = MappingProxyType({})

    def skills(self) -> Mapping[str, Skill]:
        """Return every skill by name, also those with a problem, as they were within the last second."""
        now = self._clock.monotonic()
        if self._looked_at is None or now - self._looked_at >= _LOOK_S:
            self._looked_at = now
            self._look()
        return self._skills

    def get(self, name: str) -> Skill | None:
        """Return a skill that can be used."""
        found = self.skills().get(name)
        return None if found is None or found.problem else found

    def usable(self) -> tuple[str, ...]:
        """Return the names of the skills that can be used, in order."""
        return tuple(name for name, one in self.skills().items() if not one.problem)

    def file(self, name: str) -> SkillFile:
        """Return what the SKILL.md of a skill says now."""
        return read_skill_file(self._content(self._existing(name), FILE, limit=MOST_BYTES))

    def read(self, name: str, path: str) -> bytes:
        """Return a further file of a skill."""
        skill = self._existing(name)
        inner = path.removeprefix(f"/{FOLDER}/{name}/")
        if inner.startswith("/") or ".." in inner.split("/"):
            raise BadRequest(f"{path[:200]} is outside of the skill {name}: name one of its files.")
        try:
            return self._content(skill, inner, limit=_MOST_READ)
        except NotFound:
            raise NotFound(f"The skill {name} has no file {path[:200]}.") from None

    def files(self, name: str) -> tuple[WorkFile, ...]:
        """Return the files of a skill with their sizes, the first ones if there are very many."""
        return _beneath(self._existing(name)).list(most=_MOST_LISTED).files

    def checked_folder(self, name: str) -> Path | None:
        """Return the folder of a skill, for programs to read; None if others could change it."""
        skill = self.get(name)
        if skill is None:
            return None
        problem = folder_problem(skill.folder, home=self._home)
        if problem is not None:
            _log.warning("skill_unsafe", skill=name, problem=problem)
            return None
        return skill.folder

    def check_addable(self, name: str) -> None:
        """Raise `BadRequest` or `Conflict` if no skill of this name can be added."""
        if self._is_command(name):
            raise BadRequest(
                f"/{name} is a command already: give the skill another name, in its folder and its {FILE}."
            )
        if os.path.lexists(self._root / name):
            raise Conflict(
                f"There is a skill {name} already: look at it with `hermes skills show {name}`, and remove it "
                "first."
            )
        if len(self.skills()) >= MOST_SKILLS:
            raise Conflict(f"There are {MOST_SKILLS} skills, and no more are read: remove one.")

    def add(self, package: SkillPackage) -> Skill:
        """Write a skill to disk; after a crash it is there as a whole, or not at all."""
        self.check_addable(package.name)
        self._root.mkdir(mode=0o755, exist_ok=True)
        with _alone(self._root):
            self.check_addable(package.name)
            self._tidy()
            draft = self._root / f".{package.name}.{secrets.token_hex(8)}.part"
            try:
                for one in package.files:
                    _write(draft, one)
                for here, _, _ in os.walk(draft):
                    Path(here).chmod(0o755)
                    sync_folder(Path(here))
                try:
                    # A folder that came meanwhile is not empty, so it is not replaced.
                    draft.rename(self._root / package.name)
                except OSError as error:
                    raise Conflict(f"There is a skill {package.name} already.") from error
                sync_folder(self._root)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        self._looked_at = None
        return self._existing(package.name)

    def remove(self, name: str) -> Skill:
        """Remove the folder of a skill."""
        if self.skills().get(name) is None:
            raise _unknown(name)
        with _alone(self._root):
            self._looked_at = None
            skill = self.skills().get(name)
            if skill is None:
                raise _unknown(name)
            self._tidy()
            draft = self._root / f".removed.{secrets.token_hex(8)}.part"
            skill.folder.rename(draft)
            sync_folder(self._root)
            _remove(draft)
        self._looked_at = None
        return skill

    def _existing(self, name: str) -> Skill:
        skill = self.skills().get(name)
        if skill is None:
            raise _unknown(name)
        if skill.problem:
            raise BadRequest(f"The skill {name} cannot be used: {skill.problem}")
        return skill

    def _content(self, skill: Skill, path: str, *, limit: int) -> bytes:
        content = _beneath(skill).read(path, limit=limit)
        problem = code_problem(skill.folder / path, home=self._home)
        if problem is not None:
            raise BadRequest(problem)
        return content

    def _look(self) -> None:
        """Read what has changed since the last look, and log what is wrong with it."""
        seen: dict[str, _Seen] = {}
        for name in self._names():
            if len(seen) >= MOST_SKILLS:
                # The one behind the last tells that there are too many.
                extra = Skill(name=name, folder=self._root / name, problem=_TOO_MANY)
                seen[name] = _Seen((), extra)
                break
            folder = self._root / name
            marks = _marks_of(folder)
            known = self._seen.get(name)
            if known is None or known.marks != marks:
                known = _Seen(marks, self._read(name, folder, marks[-1][1] if marks else 0))
                if known.skill.problem:
                    self._tell(known.skill)
            seen[name] = known
        if seen != self._seen:
            self._seen = seen
            self._skills = MappingProxyType({name: one.skill for name, one in seen.items()})

    def _names(self) -> list[str]:
        try:
            found = sorted(entry.name for entry in os.scandir(self._root))
        except OSError:
            return []
        return [name for name in found if name[0] not in "._"]

    def _read(self, name: str, folder: Path, changed_ns: int) -> Skill:
        try:
            file = self._checked(name, folder)
        except Refused as error:
            return Skill(name=name, folder=folder, problem=str(error))
        except OSError as error:
            why = error.strerror or "it failed"
            return Skill(name=name, folder=folder, problem=f"it cannot be read ({why}).")
        return Skill(name=name, folder=folder, description=file.description, changed_ns=changed_ns)

    def _checked(self, name: str, folder: Path) -> SkillFile:
        if folder.is_symlink() or not folder.is_dir():
            raise BadRequest(
                f"{folder} is not a folder, or is a link: put the folder itself there."
            )
        if not is_skill_name(name):
            raise BadRequest(f"The folder {name[:80]!r} is not named as a skill: rename it.")
        if self._is_command(name):
            raise BadRequest(f"/{name} is a command already: give the skill another name.")
        if not os.path.lexists(folder / FILE):
            raise BadRequest(f"There is no {FILE} in it.")
        skill = Skill(name=name, folder=folder)
        file = read_skill_file(self._content(skill, FILE, limit=MOST_BYTES))
        if file.name != name:
            raise BadRequest(
                f"Its {FILE} has the name {file.name!r}, and its folder is {name!r}: they must be the same."
            )
        return file

    def _tidy(self) -> None:
        """Remove what a crash left of a skill that was added or removed."""
        for entry in list(os.scandir(self._root)):
            if _DRAFT.fullmatch(entry.name):
                _remove(Path(entry.path))


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Let one at a time change the skills of a home: what another one writes looks like a crash's rest."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _beneath(skill: Skill) -> FilesBeneath:
    return FilesBeneath(skill.folder, place=f"/{FOLDER}/{skill.name}")


def _marks_of(folder: Path) -> _Marks:
    marks = []
    for path in (folder, folder / FILE):
        # What is not there has no marks.
        with suppress(OSError):
            found = path.lstat()
            marks.append(
                (found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode, found.st_uid)
            )
    return tuple(marks)


def _write(folder: Path, one: PackedFile) -> None:
    """Write a file that programs in the sandbox, which may run as another user, can read."""
    path = folder / one.path
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(one.content)
        os.fchmod(descriptor, 0o755 if one.is_executable else 0o644)
        file.flush()
        os.fsync(descriptor)


def _remove(folder: Path) -> None:
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
    else:
        shutil.rmtree(folder)


def _unknown(name: str) -> NotFound:
    return NotFound(
        f"There is no skill {name[:64]!r} in this home: `hermes skills list` shows those that there are."
    )
