"""Append-only JSON lines: what actually happened, for tests to compare with what was promised."""

import os
from pathlib import Path

import msgspec

_encode = msgspec.json.Encoder().encode


class Tally:
    """One file, one line per event; a line is written whole, or not at all."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path

    def add(self, **facts: object) -> None:
        """Append one line; without a file nothing is written."""
        if self.path is None:
            return
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, _encode(facts) + b"\n")
        finally:
            os.close(handle)


def read_tally(path: Path) -> list[dict[str, object]]:
    """Return the lines of a tally, oldest first; none if there is no file yet."""
    if not path.exists():
        return []
    lines = path.read_bytes().splitlines()
    return [msgspec.json.decode(line, type=dict[str, object]) for line in lines]
