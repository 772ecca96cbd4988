"""Reads the log file of a home: the newest lines, and new ones as they come, across rotations.

Only files; nothing here needs a gateway.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

_BLOCK = 262_144
_MOST_ROTATED = 100
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}

# Any: log fields hold whatever the caller logged.
Fields = dict[str, Any]
_decode = msgspec.json.Decoder(Fields).decode


class LineFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines to show: a lowest level, one message, a start time."""

    level: str = "debug"
    message: str | None = None
    since: str | None = None

    def fits(self, fields: Fields) -> bool:
        """Return whether a line matches."""
        if LEVELS.get(str(fields.get("level")), 0) < LEVELS[self.level]:
            return False
        if self.since is not None and str(fields.get("time", "")) < self.since:
            return False
        # Some lines name their message under the delivery's key.
        names = (fields.get("message_id"), fields.get("message"))
        return self.message is None or self.message in names


class Mark(msgspec.Struct, frozen=True):
    """A position in a log: the file and its size at the time."""

    inode: int = 0
    size: int = 0


def mark_of(path: Path) -> Mark:
    """Return where a log ends now."""
    try:
        stats = path.stat()
    except FileNotFoundError:
        return Mark()
    return Mark(stats.st_ino, stats.st_size)


def last_lines(path: Path, line_filter: LineFilter, *, limit: int, until: Mark) -> list[Fields]:
    """Return the last matching lines up to a mark, oldest first."""
    found: deque[Fields] = deque(maxlen=limit)
    for file in _files(path):
        for fields in _lines(file, until):
            if line_filter.fits(fields):
                found.append(fields)
    return list(found)


def follow(
    path: Path, line_filter: LineFilter, *, start: Mark, wait: Callable[[], bool]
) -> Iterator[Fields]:
    """Yield lines as they are written after a mark; end when `wait` says so."""
    file: BinaryIO | None = path.open("rb") if path.exists() else None
    rest = b""
    try:
        if file is not None and os.fstat(file.fileno()).st_ino == start.inode:
            file.seek(start.size)
        while True:
            content = b"" if file is None else file.read(_BLOCK)
            if content:
                *whole, rest = (rest + content).split(b"\n")
                yield from (
                    fields for fields in map(_read, whole) if fields and line_filter.fits(fields)
                )
                continue
            if _is_other(path, file):
                # Rotated: the old file was read to its end.
                if file is not None:
                    file.close()
                file, rest = path.open("rb"), b""
                continue
            if wait():
                return
    finally:
        if file is not None:
            file.close()


def _is_other(path: Path, file: BinaryIO | None) -> bool:
    """Return whether the path now names a different file than the open one."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    if file is None:
        return True
    here = os.fstat(file.fileno())
    return (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino)


def _files(path: Path) -> list[Path]:
    """Return the file and its rotated predecessors, oldest first."""
    rotated = []
    for number in range(1, _MOST_ROTATED + 1):
        older = path.with_name(f"{path.name}.{number}")
        if not older.exists():
            break
        rotated.append(older)
    return [*reversed(rotated), path]


def _lines(path: Path, until: Mark) -> Iterator[Fields]:
    try:
        with path.open("rb") as file:
            is_marked = os.fstat(file.fileno()).st_ino == until.inode
            for line in file:
                if is_marked and file.tell() > until.size:
                    return
                fields = _read(line)
                if fields is not None:
                    yield fields
    except FileNotFoundError:
        return


def _read(line: bytes) -> Fields | None:
    """Return a line's fields; None if it is not a log line, such as half a line after a crash."""
    try:
        return _decode(line)
    except msgspec.DecodeError:
        return None
