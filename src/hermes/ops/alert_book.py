"""The alerts of a home as a small file of JSON lines, so that they outlive the process.

A file and not a table: that the database cannot be written is one of the alerts.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from hermes.ops.alert_windows import Alert
from hermes.ops.log_stream import RotatingFile

_FILE = "logs/alerts.jsonl"
_MOST_BYTES = 1_000_000
_decode = msgspec.json.Decoder(Alert).decode
_encode = msgspec.json.Encoder().encode


class AlertBook:
    """Writes alerts down."""

    def __init__(self, home: Path) -> None:
        self._path = home / _FILE
        self._file: RotatingFile | None = None

    def add(self, alert: Alert) -> None:
        """Keep an alert; raises `OSError` where the disk takes none."""
        if self._file is None:
            self._file = RotatingFile(self._path, max_bytes=_MOST_BYTES, keep=1)
        self._file.write(_encode(alert) + b"\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_alerts(home: Path) -> list[Alert]:
    """Return the alerts that are kept, the newest first."""
    path = home / _FILE
    files = (path.with_name(f"{path.name}.1"), path)
    return list(reversed([alert for file in files for alert in _alerts(file)]))


def _alerts(path: Path) -> Iterator[Alert]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    for line in content.splitlines():
        try:
            yield _decode(line)
        except msgspec.DecodeError:
            # Half a line, from a disk that was full or a power cut.
            continue
