"""What the machine provides to a process: its time zone, its certificates, its supervisor.

Part of config, because it reads files and the environment.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_LOCAL_TIME = Path("/etc/localtime")
_ZONES = "zoneinfo/"
_UNIVERSAL = ("Etc/UTC", "Etc/UCT", "Etc/GMT", "Etc/Universal", "Etc/Zulu")


def system_zone() -> str:
    """Return the name of this machine's time zone; UTC if it has none."""
    _, found, name = str(_LOCAL_TIME.resolve()).partition(_ZONES)
    return name if found and name not in _UNIVERSAL else "UTC"


def certificate_problem(path: Path) -> str | None:
    """Return why TLS cannot use a file of certificates; None if it can."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except ssl.SSLError:
        return "found none in it"
    except OSError as error:
        return f"found none ({error.strerror})"
    return None


@dataclass(frozen=True, slots=True)
class Supervisor:
    """What systemd tells a service that it started: where to report, and how often.

    `restarts` says that it starts the process again if it ends with a failure.
    """

    notify_socket: str = ""
    watchdog_s: float = 0.0
    restarts: bool = False


def supervisor_of(environ: Mapping[str, str], pid: int) -> Supervisor:
    """Read the variables that a supervisor set for the process `pid`."""
    given, meant = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    is_for_us = meant in {"", str(pid)}
    watchdog_s = int(given) / 1_000_000 if given.isdecimal() and is_for_us else 0.0
    socket = environ.get("NOTIFY_SOCKET", "")
    # A terminal may be a service, too: its programs inherit INVOCATION_ID, and the pid of another.
    service = environ.get("SYSTEMD_EXEC_PID", "")
    is_service = service == str(pid) if service else bool(environ.get("INVOCATION_ID"))
    return Supervisor(socket, watchdog_s, restarts=bool(socket) or is_service)


INHERITED_LOCK = "_HERMES_LOCK_FD"
"""Names the open lock file that a restart hands over to its successor in the same process."""


def inherited_lock(environ: Mapping[str, str]) -> int | None:
    """Return the descriptor of the lock that this process had before a restart."""
    given = environ.get(INHERITED_LOCK, "")
    return int(given) if given.isdecimal() else None
