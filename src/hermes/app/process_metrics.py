"""What a scrape reads off the process and the disk, and off nothing that could take long."""

import os
import resource
import shutil
from pathlib import Path

from hermes import __version__
from hermes.ops.metrics import Metric, MetricReader, Reading
from hermes.ports.store import Store


def process_readers(started_at: float) -> list[Metric]:
    """Return the readers of this process, by the names that Prometheus' own clients use."""
    return [
        MetricReader(
            "hermes_info",
            "The version that runs.",
            labels=("version",),
            read=lambda: [((__version__,), 1.0)],
        ),
        MetricReader(
            "process_start_time_seconds",
            "When the gateway started, in seconds since 1970.",
            read=lambda: [((), started_at)],
        ),
        MetricReader(
            "process_cpu_seconds_total",
            "Seconds of CPU that the process took.",
            read=lambda: [((), sum(os.times()[:2]))],
            kind="counter",
        ),
        MetricReader(
            "process_resident_memory_bytes", "Memory that the process has.", read=_resident
        ),
        MetricReader("process_open_fds", "Files and connections that are open.", read=_open_files),
    ]


def store_readers(database: Path, store: Store) -> list[Metric]:
    """Return the readers of the database and its disk."""
    return [
        MetricReader("store_bytes", "Size of the database.", read=lambda: [((), _size(database))]),
        MetricReader(
            "store_free_bytes",
            "What the disk of the database can still take.",
            read=lambda: [((), float(shutil.disk_usage(database.parent).free))],
        ),
        MetricReader(
            "store_writable",
            "Whether the database takes new messages.",
            read=lambda: [((), float(store.writable() is None))],
        ),
    ]


def _resident() -> Reading:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        # No /proc: the most it ever had is all that can be told.
        return [((), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0)]
    return [((), float(pages * resource.getpagesize()))]


def _open_files() -> Reading:
    try:
        return [((), float(sum(1 for _ in Path("/proc/self/fd").iterdir())))]
    except OSError:
        return []


def _size(database: Path) -> float:
    files = (database, database.with_name(f"{database.name}-wal"))
    return float(sum(file.stat().st_size for file in files if file.exists()))
