"""The systemd unit of a gateway, as text. Pure.

A unit is a contract with three sides: `up` reports ready and alive, `stop` leaves the planned-stop
marker, and exit code 75 requests a restart.
"""

import re
from pathlib import Path

import msgspec

from hermes.errors import BadRequest

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_STOP_MARGIN_S = 30
_WATCHDOG_S = 60


class ServiceUnit(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a unit; `user` is set only for a unit of the whole machine."""

    command: tuple[str, ...]
    home: Path
    drain_s: float
    user: str | None = None

    @property
    def is_system(self) -> bool:
        """Whether the machine's systemd runs it, not a person's own."""
        return self.user is not None


def unit_name(name: str) -> str:
    """Return the file name of a unit; raise `BadRequest` for a name that systemd does not
    accept.
    """
    plain = name.removesuffix(".service")
    if _NAME.fullmatch(plain) is None:
        raise BadRequest(
            f"{name!r} is not a valid service name; use letters, digits, dots, dashes, underscores"
        )
    return f"{plain}.service"


def unit_text(unit: ServiceUnit) -> str:
    """Return the unit file."""
    home = str(unit.home)
    start = _line((*unit.command, "up", "--home", home, "--log-format", "json"))
    stop = _line((*unit.command, "stop", "--home", home))
    network = ["Wants=network-online.target", "After=network-online.target"]
    lines = [
        "[Unit]",
        f"Description=Hermes gateway in {_value(home)}",
        *(network if unit.is_system else ()),
        "",
        "[Service]",
        "Type=notify",
        "NotifyAccess=main",
        f"ExecStart={start}",
        "ExecReload=/bin/kill -HUP $MAINPID",
        f"ExecStop={stop}",
        *([f"User={unit.user}"] if unit.user else ()),
        f"WorkingDirectory={_value(home)}",
        "UMask=0077",
        "NoNewPrivileges=yes",
        "LimitNOFILE=65536",
        "KillMode=mixed",
        "Restart=on-failure",
        "RestartForceExitStatus=75",
        "RestartSec=3",
        "TimeoutStartSec=300",
        f"TimeoutStopSec={int(unit.drain_s) + _STOP_MARGIN_S}",
        f"WatchdogSec={_WATCHDOG_S}",
        "",
        "[Install]",
        f"WantedBy={'multi-user' if unit.is_system else 'default'}.target",
    ]
    return "\n".join(lines) + "\n"


def _line(words: tuple[str, ...]) -> str:
    return " ".join(_word(word) for word in words)


def _word(word: str) -> str:
    """Return a word quoted for systemd: no specifier, no variable, no quote of its own."""
    kept = _value(word).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{kept}"' if re.search(r"[\s\"'\\;]", kept) or not kept else kept


def _value(text: str) -> str:
    if any(character < " " or character == "\x7f" for character in text):
        raise BadRequest(
            f"{text!r} contains a control character, which a unit file cannot; rename it"
        )
    return text.replace("%", "%%")
