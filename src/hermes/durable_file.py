"""Writes small files that are whole and on disk when the writer returns, whatever happens then.

Every layer may use it; it knows paths and bytes, not what is in them.
"""

import os
import threading
from pathlib import Path

# Two threads may write the same file: a save whose task was cancelled goes on in its thread.
_ONE_AT_A_TIME = threading.Lock()


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file; return once the new one would survive a power cut.

    After a crash the file is the old one or the new one. Only its owner can read it. Folders that
    are missing are made, for the owner alone.
    """
    with _ONE_AT_A_TIME:
        _make_folder(path.parent)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        try:
            write_new(draft, content)
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def write_new(path: Path, content: bytes) -> None:
    """Write and sync a file that is not there yet; its name is durable only after `sync_folder`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(folder.parent)
