"""What a gateway was doing when it ended unexpectedly: `logs/gateway_shutdown.json`.

Written when the unexpected signal arrives and again at the end; for a killed process, by the next
one. It holds ids of messages and sessions, and no text.
"""

import asyncio
from pathlib import Path

import msgspec

from hermes.control.status import ChannelStatus
from hermes.ops.private_files import write_private

FILE = Path("logs") / "gateway_shutdown.json"
_MOST_TASKS = 60


class TurnAtEnd(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that was running."""

    message_id: str
    session: str
    steps: int = 0


class Shutdown(msgspec.Struct, frozen=True, kw_only=True):
    """An unexpected end.

    `signal` is None if there was none: the process was killed, or an error ended it. `tasks` are
    the tasks of the event loop, each with the place where it was.
    """

    at: float
    reason: str
    pid: int
    version: str
    started_at: float
    signal: str | None = None
    exit_code: int | None = None
    turns: tuple[TurnAtEnd, ...] = ()
    sessions: tuple[str, ...] = ()
    platforms: tuple[ChannelStatus, ...] = ()
    waiting_messages: int | None = None
    cut_off: int | None = None
    tasks: tuple[str, ...] = ()


def write_shutdown(home: Path, shutdown: Shutdown) -> None:
    """Write the file, replacing the previous one."""
    content = msgspec.json.format(msgspec.json.encode(shutdown), indent=2)
    write_private(home / FILE, content + b"\n")


def running_tasks() -> tuple[str, ...]:
    """Return the tasks of the running loop, and where each task is."""
    return tuple(sorted(_place(task) for task in asyncio.all_tasks()))[:_MOST_TASKS]


def _place(task: "asyncio.Task[object]") -> str:
    frames = task.get_stack(limit=1)
    if not frames:
        return task.get_name()
    code = frames[0].f_code
    return f"{task.get_name()}: {Path(code.co_filename).name}:{frames[0].f_lineno} {code.co_name}"
