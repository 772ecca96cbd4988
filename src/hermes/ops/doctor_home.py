"""The checks of `hermes doctor` on the home folder and the machine, and their repairs.

It repairs only what cannot lose data: permissions, missing folders, and what a dead gateway left in
`run/`, under the lock that a gateway would hold.
"""

import os
import resource
import shutil
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from hermes.config import ServerSettings, StoreSettings, ensure_home
from hermes.config.home import FOLDERS
from hermes.control.doctor import Check
from hermes.errors import AlreadyRunning, ConfigurationError
from hermes.net.open_files import ADVICE, FEW_FILES, MOST_FILES
from hermes.ops.instance import RunningGateway, acquire, left_behind
from hermes.ops.runtime import RuntimeFiles

# Listens for a moment; raises `ConfigurationError` if that is not possible.
Listen = Callable[[str, int], None]
_OTHERS = 0o077
_MIB = 1024 * 1024
_LITTLE_ROOM = 10
_CLOCK_SLACK_S = 300.0
_FIRST_SENSIBLE_DAY = datetime(2025, 1, 1, tzinfo=UTC).timestamp()
PRIVATE_FILES = (".env", "config.yaml", "gateway.json", "hermes.db", "search.db", "keys/store.keys")


def home_checks(home: Path, *, fix: bool) -> Iterator[Check]:
    """Check the home folder and its secret files: their owner and who can read them."""
    if not home.exists():
        yield _missing_home(home, fix=fix)
        return
    if home.stat().st_uid != os.geteuid():
        yield Check(
            name="home",
            status="fail",
            what=f"{home} belongs to user {home.stat().st_uid}, and you are {os.geteuid()}",
            why="the gateway refuses a home that another user can change",
            fix="run the command as its owner, or set HERMES_HOME to another folder",
        )
        return
    found = [*_folder_checks(home, fix=fix), *_file_checks(home, fix=fix)]
    yield from found
    if not found:
        yield Check(name="home", status="ok", what=f"{home} is yours, and closed to others")


def _missing_home(home: Path, *, fix: bool) -> Check:
    if fix:
        ensure_home(home)
    return Check(
        name="home",
        status="ok" if fix else "warn",
        what=f"{home} is not there yet" + ("; it was created" if fix else ""),
        why="" if fix else "the first start creates it",
        fix="" if fix else "run `hermes init`, `hermes up`, or `hermes doctor --fix`",
        fixed=fix,
    )


def _folder_checks(home: Path, *, fix: bool) -> Iterator[Check]:
    for folder in (home, *(home / name for name in FOLDERS)):
        if not folder.exists():
            if fix:
                folder.mkdir(mode=0o700)
            yield _mended(f"the folder {folder} is missing", "a start creates it", fix=fix)
        elif _is_open(folder):
            yield _close(folder, 0o700, fix=fix)


def _file_checks(home: Path, *, fix: bool) -> Iterator[Check]:
    for path in (home / name for name in PRIVATE_FILES):
        if path.is_file() and not path.is_symlink() and _is_open(path):
            yield _close(path, 0o600, fix=fix)


def _is_open(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & _OTHERS)


def _close(path: Path, mode: int, *, fix: bool) -> Check:
    found = stat.S_IMODE(path.stat().st_mode)
    if fix:
        path.chmod(mode)
    what = f"{path} is open to other users (mode {found:04o}, expected {mode:04o})"
    # Checked again: some file systems accept a mode silently and do not keep it.
    if fix and _is_open(path):
        return Check(
            name="home",
            status="warn",
            what=f"{what}; it was corrected, but the file system does not keep it",
            why="others on this machine could read or change what is kept here",
            fix="set HERMES_HOME to a folder on a file system with permissions",
        )
    return _mended(what, f"chmod {mode:o} {path}", fix=fix)


def _mended(what: str, how: str, *, fix: bool) -> Check:
    return Check(
        name="home",
        status="ok" if fix else "warn",
        what=f"{what}; fixed" if fix else what,
        why="" if fix else "others on this machine could read or change what is kept here",
        fix="" if fix else f"`hermes doctor --fix`: {how}",
        fixed=fix,
    )


def remains_checks(home: Path, running: RunningGateway | None, *, fix: bool) -> Iterator[Check]:
    """Check for files that a crashed gateway left, and how the last gateways ended."""
    left = () if running is not None else left_behind(home)
    if left:
        # Only the holder of the lock may remove what dead gateways left.
        swept = fix and _sweep(home)
        yield Check(
            name="gateway",
            status="ok" if swept else "warn",
            what=f"a gateway that crashed left {', '.join(left)} in {home / 'run'}"
            + ("; removed" if swept else ""),
            why="" if swept else "it was killed, or the machine went down; nothing is lost",
            fix="" if swept else "the next start removes them, and so does `hermes doctor --fix`",
            fixed=swept,
        )
    starts = RuntimeFiles(home).starts()
    if starts.crashes:
        last = datetime.fromtimestamp(starts.crashes[-1]).astimezone()
        yield Check(
            name="gateway",
            status="warn",
            what=f"{len(starts.crashes)} of the last starts followed a crash, "
            f"the newest at {last:%Y-%m-%d %H:%M:%S %Z}",
            why="after several in a row a start leaves cut-off turns alone (process.crash_starts)",
            fix="`hermes logs` shows the last lines before the end",
        )


def _sweep(home: Path) -> bool:
    try:
        acquire(home).release()
    except (AlreadyRunning, ConfigurationError):
        return False
    return True


def disk_check(home: Path, store: StoreSettings) -> Check:
    """Check the free disk space."""
    place = next(folder for folder in (home, *home.parents) if folder.exists())
    free, reserve = shutil.disk_usage(place).free, store.disk_reserve_mb * _MIB
    what = f"{free / 1e9:,.1f} GB are free under {place}"
    if free <= reserve:
        return Check(
            name="disk",
            status="fail",
            what=f"{what}, less than store.disk_reserve_mb ({store.disk_reserve_mb})",
            why="new messages are refused, so that accepted ones can be answered",
            fix="free some space; delete log files and exports first",
        )
    if free <= _LITTLE_ROOM * reserve:
        why = "below store.disk_reserve_mb new messages are refused"
        return Check(name="disk", status="warn", what=what, why=why, fix="free some space soon")
    return Check(name="disk", status="ok", what=what)


def files_check(running: RunningGateway | None) -> Check:
    """Check how many files the gateway may open: the running one, or one that starts here."""
    most = None if running is None else _files_of(running.identity.pid)
    if most is None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    what = f"the gateway may open {most:,} files and connections"
    if most < FEW_FILES:
        why = "many callers at a time would be refused, and calls to models would wait for files"
        return Check(name="open files", status="warn", what=what, why=why, fix=ADVICE)
    return Check(name="open files", status="ok", what=what)


def _files_of(pid: int) -> int | None:
    """Return how many files a process may open, or None where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[3] for line in lines if line.startswith("Max open files")]
    return int(found[0]) if found and found[0].isdigit() else None


def port_check(server: ServerSettings, running: RunningGateway | None, *, listen: Listen) -> Check:
    """Check whether the gateway listens, or could: `listen` tries it and raises what is wrong."""
    if running is not None:
        where = (
            running.address.url
            if running.address
            else "no address: it is starting, or runs inside `hermes chat`"
        )
        said = f"our own gateway, pid {running.identity.pid}, is there: {where}"
        return Check(name="port", status="ok", what=said)
    try:
        listen(server.host, server.port)
    except ConfigurationError as problem:
        what, _, fix = str(problem).partition(". ")
        why = "`hermes up` would not start"
        return Check(name="port", status="fail", what=what, why=why, fix=fix)
    return Check(name="port", status="ok", what=f"{server.host}:{server.port} is free")


def clock_check(home: Path, now: float, *, zone: str | None) -> Check:
    """Check whether the clock is plausible, and report the time zone of daily times."""
    written = max((path.stat().st_mtime for path in home.glob("hermes.db*")), default=0.0)
    its_zone = None if zone is None else ZoneInfo(zone)
    here = datetime.fromtimestamp(now).astimezone(its_zone)
    named = zone or f"the system's, {here.tzname()}"
    if now < _FIRST_SENSIBLE_DAY or written > now + _CLOCK_SLACK_S:
        later = datetime.fromtimestamp(written).astimezone(its_zone)
        return Check(
            name="clock",
            status="fail" if now < _FIRST_SENSIBLE_DAY else "warn",
            what=f"the clock says {here:%Y-%m-%d %H:%M}, but the database was written at "
            f"{later:%Y-%m-%d %H:%M}",
            why="schedules, expiry and the certificates of model services depend on the clock",
            fix="set the clock, by NTP if you can: `timedatectl set-ntp true`",
        )
    return Check(name="clock", status="ok", what=f"{here:%Y-%m-%d %H:%M}; time zone: {named}")
