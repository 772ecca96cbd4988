"""Describes an error in foreign code in one line: the error, the file and the line number.

Used in errors that refuse a plugin or its channel, so that its author finds the place without a
traceback.
"""

import importlib
import traceback
from pathlib import Path

_OWN = str(Path(__file__).resolve().parent.parent)
# The import machinery is in the traceback of every import error, and is never the cause.
_IMPORTING = ("<", str(Path(importlib.__file__).parent))
_MOST_CHARACTERS = 400


def fault_text(error: BaseException) -> str:
    """Return the error and where it was raised, such as `KeyError: 'x' (/a/b.py, line 3)`."""
    said = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    what = f"{type(error).__name__}: {said}"[:_MOST_CHARACTERS].removesuffix(": ")
    place = _place(error)
    return what if place is None else f"{what} ({place[0]}, line {place[1]})"


def _place(error: BaseException) -> tuple[str, int | None] | None:
    """Return the innermost line of foreign code, or the innermost line if there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    read = [frame for frame in frames if not frame.filename.startswith(_IMPORTING)]
    foreign = [frame for frame in read if not frame.filename.startswith(_OWN)]
    last = (foreign or read)[-1:]
    return (last[0].filename, last[0].lineno) if last else None
