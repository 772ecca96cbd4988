"""Stores the alerts of a home in a small file of JSON lines, so that they outlive the process.

A file and not a table: one of the alerts is that the database cannot be written.
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
    """Writes alerts to the file."""

    def __init__(self, home: Path) -> None:
        self._path = home / _FILE
        self._file: RotatingFile | None = None

    def add(self, alert: Alert) -> None:
        """Append an alert; raise `OSError` if the disk does not accept it."""
        if self._file is None:
            self._file = RotatingFile(self._path, max_bytes=_MOST_BYTES, keep=1)
        self._file.write(_encode(alert) + b"\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_alerts(home: Path) -> list[Alert]:
    """Return the stored alerts, newest first."""
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
            # An incomplete line, from a full disk or a power cut.
            continue
