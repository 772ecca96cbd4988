"""Where log lines go: a small buffer in front of a stream and, optionally, a rotating file.

A line costs one append. The buffer is written at once for a warning, otherwise by its own thread
within a second, and at the end. A full disk or a closed pipe never stops the gateway.
"""

import os
import sys
import threading
from pathlib import Path
from typing import BinaryIO

_FLUSH_AFTER_S = 1.0
_FLUSH_AT_BYTES = 64 * 1024


class RotatingFile:
    """A file that is rotated at a size limit; a few old files are kept."""

    def __init__(self, path: Path, *, max_bytes: int, keep: int = 3) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._keep = keep
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._descriptor = _open_private(path)
        self._size = os.fstat(self._descriptor).st_size

    def write(self, content: bytes) -> None:
        """Append; start a new file first if this one is full."""
        if self._size and self._size + len(content) > self._max_bytes:
            self._rotate()
        _write_all(self._descriptor, content)
        self._size += len(content)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _rotate(self) -> None:
        for number in range(self._keep - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        if self._keep:
            self._path.replace(self._numbered(1))
        else:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = _open_private(self._path)
        self._size = 0

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


class LogStream:
    """Takes finished lines from any thread and writes them in batches."""

    def __init__(self, stream: BinaryIO | None, file: RotatingFile | None = None) -> None:
        self._stream = stream
        self._file = file
        self._lines: list[bytes] = []
        # The same lines in the file's format, if that differs.
        self._for_file: list[bytes] = []
        self._size = 0
        self._lock = threading.RLock()
        self._has_lines = threading.Event()
        self._closing = threading.Event()
        self.lost = 0
        self._flusher = threading.Thread(target=self._flush_later, name="log-flush", daemon=True)
        self._flusher.start()

    def write(self, line: bytes, for_file: bytes | None = None) -> None:
        """Buffer a line; it is written within a second."""
        with self._lock:
            self._lines.append(line)
            if for_file is not None:
                self._for_file.append(for_file)
            self._size += len(line)
            if self._size >= _FLUSH_AT_BYTES:
                self._flush_locked()
            elif len(self._lines) == 1:
                self._has_lines.set()

    def write_now(self, line: bytes, for_file: bytes | None = None) -> None:
        """Write a line, and everything before it, before returning."""
        with self._lock:
            self._lines.append(line)
            if for_file is not None:
                self._for_file.append(for_file)
            self._flush_locked()

    def flush(self) -> None:
        """Write everything buffered."""
        with self._lock:
            self._flush_locked()

    def close(self) -> None:
        """Write everything and end the thread; later lines are written at once."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._has_lines.set()
        self._flusher.join()
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _flush_locked(self) -> None:
        if not self._lines:
            return
        content, count = b"".join(self._lines), len(self._lines)
        for_file = b"".join(self._for_file) or content
        self._lines.clear()
        self._for_file.clear()
        self._size = 0
        self._has_lines.clear()
        try:
            if self._stream is not None:
                self._stream.write(content)
                self._stream.flush()
        except (OSError, ValueError):
            # A closed terminal or a full disk: the gateway matters more than its log.
            self.lost += count
        try:
            if self._file is not None:
                self._file.write(for_file)
        except OSError:
            self.lost += count

    def _flush_later(self) -> None:
        while not self._closing.is_set():
            self._has_lines.wait()
            self._closing.wait(_FLUSH_AFTER_S)
            self.flush()


def standard_error() -> BinaryIO:
    """The stream for logs: standard error, as bytes."""
    return sys.stderr.buffer


def _open_private(path: Path) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
