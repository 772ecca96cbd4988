"""Identifies a process: a pid alone can be reused, so its start time and arguments count too.

Used by the one-instance rule and by `hermes stop`. Without /proc, the pid alone is used.
"""

import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

_START_TIME_FIELD = 22
_POLL_S = 0.1


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """A uniquely identified process; `start_time` is field 22 of /proc/PID/stat, in clock ticks."""

    pid: int
    kind: str
    argv: tuple[str, ...]
    start_time: int | None


def own_identity(kind: str) -> ProcessIdentity:
    """Return the identity of the current process."""
    pid = os.getpid()
    argv = _argv_of(pid) or tuple(sys.orig_argv)
    return ProcessIdentity(pid=pid, kind=kind, argv=argv, start_time=start_time_of(pid))


def start_time_of(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if there is no such
    process.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the command in parentheses and may contain spaces and parentheses.
    fields_from_third = stat.rpartition(")")[2].split()
    return int(fields_from_third[_START_TIME_FIELD - 3])


def is_alive(identity: ProcessIdentity) -> bool:
    """Return whether exactly this process still runs, not a later one with the same pid."""
    if identity.start_time is None:
        return _pid_exists(identity.pid)
    return (
        start_time_of(identity.pid) == identity.start_time
        and _argv_of(identity.pid) == identity.argv
    )


def _argv_of(pid: int) -> tuple[str, ...] | None:
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    return tuple(piece.decode(errors="replace") for piece in raw.split(b"\0")[:-1])


def _pid_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class ProcessHandle:
    """A handle on one verified process: signals and waits never reach a later process."""

    def __init__(self, identity: ProcessIdentity) -> None:
        self._identity = identity
        self._pidfd = _open_pidfd(identity.pid)

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal if the process still runs; return whether it did."""
        if not is_alive(self._identity):
            return False
        try:
            if self._pidfd is None:
                os.kill(self._identity.pid, number)
            else:
                signal.pidfd_send_signal(self._pidfd, number)
        except ProcessLookupError:
            return False
        return True

    def wait(self, timeout_s: float, *, monotonic: Callable[[], float]) -> bool:
        """Wait until the process has ended; return False if it still runs after `timeout_s`."""
        if self._pidfd is not None:
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            return bool(poll.poll(timeout_s * 1000))
        deadline = monotonic() + timeout_s
        pause = threading.Event()
        while is_alive(self._identity):
            if monotonic() >= deadline:
                return False
            pause.wait(_POLL_S)
        return True

    def close(self) -> None:
        """Release the handle."""
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


def _open_pidfd(pid: int) -> int | None:
    opener: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    if opener is None:
        return None
    try:
        return opener(pid)
    except OSError:
        return None
