"""What the kernel says of one process: its CPU time and its memory; and how busy the machine is."""

import os
from collections.abc import Iterator
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Places behind the command name in /proc/PID/stat; C is what ended children have used.
_PPID, _UTIME, _STIME, _CUTIME, _CSTIME = 1, 11, 12, 13, 14


def cpu_s(pid: int) -> float:
    """Return the user and system time of one process, all its threads, no children."""
    fields = _stat(pid)
    return (int(fields[_UTIME]) + int(fields[_STIME])) / _TICKS_PER_S


def tree_cpu_s(pid: int) -> float:
    """Return the user and system time of a process and of all that it started, ended ones too."""
    ticks = 0
    for one in _tree(pid):
        try:
            fields = _stat(one)
        except FileNotFoundError:
            continue  # ended since it was listed: now among the ended children of its parent
        ticks += sum(int(fields[place]) for place in (_UTIME, _STIME, _CUTIME, _CSTIME))
    return ticks / _TICKS_PER_S


def rss_mb(pid: int) -> float:
    """Return the resident memory of one process in MB of 10^6 bytes."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1_000_000
    raise ProcessLookupError(f"process {pid} has no VmRSS: it has ended")


def load_average() -> float:
    """Return how many processes wanted to run in the last minute."""
    return os.getloadavg()[0]


def _stat(pid: int) -> list[str]:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return stat.rpartition(")")[2].split()


def _tree(pid: int) -> Iterator[int]:
    """Yield a process, then its children, theirs, and so on."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            children.setdefault(int(_stat(int(folder.name))[_PPID]), []).append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += children.get(one, [])
