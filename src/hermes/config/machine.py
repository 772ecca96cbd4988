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
    """What systemd tells a service that it started: where to report, and how often."""

    notify_socket: str = ""
    watchdog_s: float = 0.0


def supervisor_of(environ: Mapping[str, str], pid: int) -> Supervisor:
    """Read the variables that a supervisor set for the process `pid`."""
    given, meant = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    is_for_us = meant in {"", str(pid)}
    watchdog_s = int(given) / 1_000_000 if given.isdecimal() and is_for_us else 0.0
    return Supervisor(environ.get("NOTIFY_SOCKET", ""), watchdog_s)
