"""What the kernel says of one process: its CPU time and its memory; and how busy the machine is."""

import os
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_UTIME, _STIME = 11, 12  # places behind the command name in /proc/PID/stat


def cpu_s(pid: int) -> float:
    """Return the user and system time of one process, all its threads, no children."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    fields = stat.rpartition(")")[2].split()
    return (int(fields[_UTIME]) + int(fields[_STIME])) / _TICKS_PER_S


def rss_mb(pid: int) -> float:
    """Return the resident memory of one process in MB of 10^6 bytes."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1_000_000
    raise ProcessLookupError(f"process {pid} has no VmRSS: it has ended")


def load_average() -> float:
    """Return how many processes wanted to run in the last minute."""
    return os.getloadavg()[0]
