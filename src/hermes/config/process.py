"""The settings of the process itself: crashes in a row, stalls, and what people are told of a stop.

Part of config, like what a supervisor such as systemd hands over in the environment.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from hermes.config.section import Delay, Seconds, Section, Whole


class ProcessSettings(Section):
    """The life of the gateway's process."""

    crash_starts: Whole = Field(
        default=5,
        description="After this many crashes within crash_window_s a start does not resume what "
        "ran; after one more, it ends what waited too. 0: never.",
    )
    crash_window_s: Seconds = Field(default=600, description="Only crashes within this time count.")
    stall_s: Delay = Field(
        default=10,
        description="If the event loop is blocked for this long, the log says where; 0: never.",
    )
    stuck_turn_s: Delay = Field(
        default=300,
        description="A turn that makes no step for this long beyond every limit of calls and "
        "tools is ended; 0: never.",
    )
    tell_stop_after_s: Delay = Field(
        default=3,
        description="If a turn still runs this long after a stop began, its chat gets a notice.",
    )
    lock_dir: Path | None = Field(
        default=None,
        description="The folder of the locks that prevent two processes from using one "
        "credential; default: the user's cache folder. Every gateway of the machine must use the "
        "same folder.",
    )
    tell_stop: bool = Field(
        default=True, description="Whether chats with a running turn get a notice of a stop."
    )


@dataclass(frozen=True, slots=True)
class Supervisor:
    """What systemd says to a service that it started: where to report, and how often."""

    notify_socket: str = ""
    watchdog_s: float = 0.0


def supervisor_of(environ: Mapping[str, str], pid: int) -> Supervisor:
    """Read what a supervisor has put into the environment for the process `pid`."""
    given, meant = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    is_for_us = meant in {"", str(pid)}
    watchdog_s = int(given) / 1_000_000 if given.isdecimal() and is_for_us else 0.0
    return Supervisor(environ.get("NOTIFY_SOCKET", ""), watchdog_s)
