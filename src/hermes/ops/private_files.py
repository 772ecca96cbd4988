"""Small files that only their owner can read and that are never seen half written."""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

_Value = TypeVar("_Value")


def create_private(path: Path, content: bytes) -> None:
    """Create a file; it must not exist yet."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def write_private(path: Path, content: bytes) -> None:
    """Replace a file as a whole, so that a reader never sees half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    create_private(draft, content)
    draft.replace(path)


def read_as(path: Path, kind: type[_Value]) -> _Value | None:
    """Return a file's content as a type, or None if it is missing or does not fit."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None
