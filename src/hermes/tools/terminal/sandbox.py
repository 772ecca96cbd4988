"""The sandbox: the command line under which a program reaches nothing but its working folder. Pure.

Under bubblewrap the program has no network, its own process tree, the programs and libraries of the
system to read, a private temporary folder, and its working folder to write. `unsafe` starts it as
it is. `program.py` starts what this file describes.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

SandboxKind = Literal["bubblewrap", "unsafe"]
# Where a sandboxed program finds its working folder.
WORK: Final = "/files"
# Where it finds the folders of skills, each by its name.
SKILLS: Final = "/skills"
# A gateway that runs as root gives its programs away to "nobody".
NOBODY_ID: Final = 65534
_MB: Final = 1_000_000
_SEARCHED: Final = "/usr/local/bin:/usr/bin:/bin"
_NEEDED: Final = ("bwrap", "setpriv", "prlimit")
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Nothing else of /etc: other files there may hold passwords.
_ETC: Final = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "fonts", "group", "hosts"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic", "mime.types"),
    *("nsswitch.conf", "passwd", "pki/tls/certs", "protocols", "services", "ssl/certs"),
    *("ssl/openssl.cnf", "terminfo", "timezone"),
)
_ETC_NETWORK: Final = ("resolv.conf", "host.conf", "gai.conf")
_UNINSTALLED: Final = (
    "the sandbox needs {names}, which {verb} not installed: `apt install bubblewrap util-linux`, or set "
    "terminal.sandbox to unsafe"
)
_OPEN_FILES: Final = 1_024
_NICENESS: Final = "10"
# A user namespace of its own, so that processes are counted for each sandbox, and none below it, in
# which a program would be root. Where the kernel gives none to "nobody", none is needed for the second.
_OWN_USERS: Final = (
    'unshare --user true 2>/dev/null || exec "$@"; '
    "exec unshare --user --map-current-user --keep-caps /bin/sh -c "
    "'echo 0 2>/dev/null > /proc/sys/user/max_user_namespaces; exec \"$@\"' sh "
    'setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all -- "$@"'
)


# Ends a program with the gateway, however early that dies: bubblewrap does so by itself only once it
# runs. Of the pipe the gateway holds the other end, so reading ends with it.
_LIFELINE: Final = 'fd=$0; { read -r -u "$fd" _; kill -KILL -1; } & exec "$@" {fd}<&-'
_BASH: Final = "/bin/bash"


class ProgramLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a sandboxed program may take; memory and processor time are counted for each process."""

    processes: int = 256
    cpu_s: int = 3_600
    memory_mb: int = 2_048
    file_mb: int = 256


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """How programs are started: in a sandbox, or as they are.

    `readable` are folders beside the system's that a program may read, `hidden` those that it
    never sees. `skills` are folders by name that it may read under /skills. As root programs are given
    to the user "nobody". With `has_network` a program has the network of this machine.
    """

    kind: SandboxKind = "bubblewrap"
    limits: ProgramLimits = ProgramLimits()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    skills: Mapping[str, Path] = {}
    variables: Mapping[str, str] = {}
    is_root: bool = False
    # Folders that a program may read at another place, each with this place.
    doors: tuple[tuple[Path, str], ...] = ()
    has_network: bool = False
    # Whose unsafe programs these are: by that they are found after a crash.
    owner: str = ""

    @property
    def owner_id(self) -> int | None:
        """The user and group that must own a program's files; None for the gateway's own."""
        return NOBODY_ID if self.is_root and self.kind == "bubblewrap" else None

    def place(self, folder: Path) -> str:
        """Return the path at which a program sees its working folder."""
        return WORK if self.kind == "bubblewrap" else str(folder)

    def command(
        self,
        program: Sequence[str],
        *,
        folder: Path,
        lifeline: int | None = None,
        walls: int | None = None,
    ) -> tuple[str, ...]:
        """Return the whole command line of a program.

        It ends when no process holds the other end of the pipe `lifeline` any more. The walls are read
        from the file `walls` if there is one: a program can read the command line of its sandbox.
        """
        if self.kind == "unsafe":
            return (*_with_parent(), *_behind_others(), *self._limited(), *program)
        given = (*self._as_nobody(), *_held_by(lifeline), *self._limited(), *program)
        around = self.walls(folder) if walls is None else ("--args", str(walls))
        return (*_first_to_die(), *_behind_others(), _tool("bwrap"), *around, "--", *given)

    def walls(self, folder: Path) -> tuple[str, ...]:
        """Return the options of bubblewrap: what a program sees and what it does not."""
        return tuple(self._walls(folder))

    def environment(self, folder: Path) -> dict[str, str]:
        """Return all environment variables of a program: none of the gateway's own."""
        return {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": self.place(folder),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            **self.variables,
        }

    def _walls(self, folder: Path) -> Iterator[str]:
        yield from ("--die-with-parent", "--new-session", "--unshare-pid")
        yield from () if self.has_network else ("--unshare-net",)
        yield from ("--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
        yield from self._identity()
        size = str(self.limits.file_mb * _MB)
        yield from ("--perms", "1777", "--size", size, "--tmpfs", "/tmp")
        etc = (*_ETC, *(_ETC_NETWORK if self.has_network else ()))
        shown = (*_SYSTEM, *(f"/etc/{name}" for name in etc), *map(str, self.readable))
        for path in _parents(shown):
            yield from ("--perms", "0755", "--dir", path)
        if self.skills:
            yield from ("--perms", "0755", "--dir", SKILLS)
        for path in shown:
            yield from ("--ro-bind-try", path, path)
        for hidden in self._seen(shown):
            yield from ("--tmpfs", str(hidden), "--remount-ro", str(hidden))
        yield from ("--proc", "/proc", "--dev", "/dev")
        yield from (
            "--perms",
            "1777",
            "--size",
            size,
            "--tmpfs",
            "/dev/shm",
            "--remount-ro",
            "/dev",
        )
        for door, place in self.doors:
            yield from ("--ro-bind", str(door), place)
        for name, skill in self.skills.items():
            yield from ("--ro-bind", str(skill), f"{SKILLS}/{name}")
        yield from ("--bind", str(folder), WORK, "--chdir", WORK, "--hostname", "sandbox")
        yield from ("--remount-ro", "/")

    def _identity(self) -> tuple[str, ...]:
        if self.is_root:
            return ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
        return ("--unshare-user", "--disable-userns")

    def _as_nobody(self) -> tuple[str, ...]:
        if not self.is_root:
            return ()
        ids = (f"--reuid={NOBODY_ID}", f"--regid={NOBODY_ID}", "--clear-groups")
        own_users = ("/bin/sh", "-c", _OWN_USERS, "sh")
        return (_tool("setpriv"), *ids, "--inh-caps=-all", "--", *own_users)

    def _limited(self) -> tuple[str, ...]:
        prlimit, limits = _found("prlimit"), self.limits
        if prlimit is None:
            return ()
        sizes = (f"--data={limits.memory_mb * _MB}", f"--fsize={limits.file_mb * _MB}")
        # Outside a sandbox the number would count everything that the gateway's user runs.
        counted = (f"--nproc={limits.processes}",) if self.kind == "bubblewrap" else ()
        # The signal at the limit can be ignored; a second later the kernel kills.
        cpu = f"--cpu={limits.cpu_s}:{limits.cpu_s + 1}"
        return (prlimit, *counted, *sizes, cpu, f"--nofile={_OPEN_FILES}", "--core=0", "--")

    def _seen(self, shown: Sequence[str]) -> Iterator[Path]:
        """Yield the hidden folders that would be visible below a shown one."""
        for path in self.hidden:
            if any(path.is_relative_to(one) for one in shown):
                yield path


def _parents(shown: Sequence[str]) -> tuple[str, ...]:
    """Return the folders above the shown ones, which "nobody" must be able to enter."""
    above = {str(one) for path in shown for one in Path(path).parents}
    return tuple(sorted(above - {"/", "/tmp", *shown}))


def missing_tools(path: str = _SEARCHED) -> tuple[str, ...]:
    """Return the programs that a sandbox needs and that are not installed."""
    return tuple(name for name in _NEEDED if shutil.which(name, path=path) is None)


def tools_problem(path: str = _SEARCHED) -> str | None:
    """Return why no sandbox can be made, in words for models and operators; None if one can."""
    missing = missing_tools(path)
    if not missing:
        return None
    verb = "is" if len(missing) == 1 else "are"
    return _UNINSTALLED.format(names=" and ".join(missing), verb=verb)


def runs_as_root() -> bool:
    """Return whether this process is root."""
    return os.geteuid() == 0


def _tool(name: str) -> str:
    return _found(name) or name


def _found(name: str) -> str | None:
    return shutil.which(name, path=_SEARCHED)


def _with_parent() -> tuple[str, ...]:
    """Return what ends an unsafe program with the gateway, where there is such a program."""
    setpriv = _found("setpriv")
    return () if setpriv is None else (setpriv, "--pdeathsig", "KILL", "--")


def _held_by(lifeline: int | None) -> tuple[str, ...]:
    is_held = lifeline is not None and Path(_BASH).exists()
    return (_BASH, "-c", _LIFELINE, str(lifeline)) if is_held else ()


def _behind_others() -> tuple[str, ...]:
    """Return what gives the gateway, and everything else here, the processor before a program."""
    nice = _found("nice")
    return () if nice is None else (nice, "-n", _NICENESS)


def _first_to_die() -> tuple[str, ...]:
    """Return what lets a program die before others if the machine has no memory left."""
    choom = _found("choom")
    return () if choom is None else (choom, "-n", "1000", "--")
