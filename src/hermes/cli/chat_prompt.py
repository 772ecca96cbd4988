"""Reads what the person types: lines with history, and messages of several lines."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

try:
    import readline
except ImportError:  # some builds of Python come without it
    readline = None  # type: ignore[assignment]

PROMPT = "› "
CONTINUED = "… "
BLOCK = '"""'
_KEPT_LINES = 2000

ReadLine = Callable[[str], str]


def read_message(read_line: ReadLine) -> str:
    """Return one message: a line, lines joined by a last backslash, or a block between quotes.

    Raises EOFError at the end of the input, as `read_line` does.
    """
    line = read_line(PROMPT)
    if line.strip() == BLOCK:
        return _read_block(read_line)
    lines = [line]
    while lines[-1].endswith("\\"):
        lines[-1] = lines[-1][:-1]
        lines.append(read_line(CONTINUED))
    return "\n".join(lines)


def _read_block(read_line: ReadLine) -> str:
    lines: list[str] = []
    while (line := read_line(CONTINUED)).strip() != BLOCK:
        lines.append(line)
    return "\n".join(lines)


def read_piped_line(_prompt: str) -> str:
    """Return the next line of a pipe, without a prompt."""
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


class LineHistory:
    """The lines of earlier chats, in a file that only their owner can read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._editor: ModuleType | None = readline

    def __enter__(self) -> "LineHistory":
        if self._editor is not None and self._path.exists():
            self._editor.read_history_file(self._path)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._editor is None:
            return
        self._editor.set_history_length(_KEPT_LINES)
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600))
        self._editor.write_history_file(self._path)
