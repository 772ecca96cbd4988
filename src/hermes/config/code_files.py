"""Whether others on this machine could change a file whose code the gateway runs.

Part of config; it reads owners and modes and runs nothing. The rule is the same for hooks, plugin
folders, tool files and programs in the home: the file, its folders and every link on the way belong
to the user of the gateway or to root, and neither their group nor others may write to them.
"""

import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from hermes.errors import ConfigurationError

_WRITABLE_BY_OTHERS = 0o022
_ROOT = 0
# As many as the kernel follows.
_MOST_LINKS = 40


def read_code(path: Path, *, home: Path) -> bytes:
    """Return the content of a file whose code will be run; raises `ConfigurationError` if unsafe.

    The way to it is checked before, and the opened file itself is checked again.
    """
    check_code(path, home=home)
    with path.open("rb") as file:
        problem = _problem(path, os.fstat(file.fileno()))
        if problem is not None:
            raise ConfigurationError(problem)
        return file.read()


def check_code(path: Path, *, home: Path) -> None:
    """Raise `ConfigurationError` if others can change this file or put another in its place."""
    problem = code_problem(path, home=home)
    if problem is not None:
        raise ConfigurationError(problem)


def code_problem(path: Path, *, home: Path) -> str | None:
    """Return why others can change a file, with the command that mends it; None if they cannot.

    Checks from the home down if the file is in it, otherwise from the root of the file system.
    """
    return next(_problems(path, home), None)


def folder_problem(folder: Path, *, home: Path) -> str | None:
    """Do the same as `code_problem` for everything in a folder, such as a plugin."""
    found = code_problem(folder, home=home)
    if found is not None:
        return found
    seen: set[tuple[int, int]] = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        here = Path(place).stat()
        if (here.st_dev, here.st_ino) in seen:
            # A link to a folder that was checked; it may lead in a circle.
            folders.clear()
            continue
        seen.add((here.st_dev, here.st_ino))
        for name in (*folders, *files):
            inside = Path(place, name)
            status = inside.lstat()
            if stat.S_ISLNK(status.st_mode):
                found = code_problem(inside, home=home)
            else:
                found = _problem(inside, status)
            if found is not None:
                return found
    return None


def program_problem(
    command: str, args: Sequence[str], *, cwd: Path | None, home: Path
) -> str | None:
    """Return why others can change a program in the home, or a file there that it is given.

    A program elsewhere is the system's, like Python itself, and is not checked.
    """
    words = [command] if "/" in command else []
    words += [part for word in args for part in (word, word.partition("=")[2]) if part]
    for word in words:
        path = (cwd or Path()).absolute() / word
        if _is_in(path, home) and path.is_file():
            found = code_problem(path, home=home)
            if found is not None:
                return found
    return None


def _is_in(path: Path, home: Path) -> bool:
    return path.is_relative_to(home.absolute()) or path.resolve().is_relative_to(home.resolve())


def _problems(path: Path, home: Path) -> Iterator[str]:
    for place, status in _way(path, home):
        problem = _problem(place, status)
        if problem is not None:
            yield problem


def _way(path: Path, home: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Return every folder and link that leads to a file, and the file, as the kernel follows it."""
    path, home = path.absolute(), home.absolute()
    here = home if path.is_relative_to(home) else Path(path.anchor)
    ahead = list(reversed(path.relative_to(here).parts))
    # The home may be reached by a link; what is in front of it is not ours to judge.
    here, links = here.resolve(), 0
    yield here, here.stat()
    while ahead:
        name = ahead.pop()
        if name == os.pardir:
            # This may lead out of the home: all that is above counts.
            here = here.parent
            yield from ((folder, folder.stat()) for folder in (here, *here.parents))
            continue
        place = here / name
        try:
            status = place.lstat()
        except OSError:
            # Whoever opens it says that it is not there.
            return
        yield place, status
        if not stat.S_ISLNK(status.st_mode):
            here = place
            continue
        target = place.readlink()
        links += 1
        if links > _MOST_LINKS:
            return
        ahead += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        if target.is_absolute():
            here = Path(target.anchor)
            yield here, here.stat()


def _problem(path: Path, found: os.stat_result) -> str | None:
    name = shlex.quote(str(path))
    if found.st_uid not in (_ROOT, os.geteuid()):
        return (
            f"{path} belongs to user {found.st_uid}, who could change what the gateway runs; "
            f"expected user {os.geteuid()}, who runs Hermes, or root. Read what it contains, "
            f"then run chown -h {os.geteuid()} {name}"
        )
    mode = stat.S_IMODE(found.st_mode)
    is_link = stat.S_ISLNK(found.st_mode)
    # In a sticky folder only an entry's owner can replace it, and the owners are checked.
    is_sticky = stat.S_ISDIR(found.st_mode) and bool(mode & stat.S_ISVTX)
    if is_link or is_sticky or not mode & _WRITABLE_BY_OTHERS:
        return None
    return (
        f"{path} can be changed by other users (mode {mode:04o}), who could so run code as the "
        f"user of the gateway. Read what it contains, then run chmod go-w {name}"
    )
