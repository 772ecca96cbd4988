"""Says why this process cannot write a database file: whose it is, its mode, and what to do."""

import os
import pwd
import stat
from pathlib import Path

_WRITABLE = os.R_OK | os.W_OK


def access_problem(path: Path, why: str) -> str:
    """Return why a file could not be opened for writing, and what to do; `why` is the error."""
    return (
        _file_problem(path)
        or _folder_problem(path.parent)
        or (
            f"{path} cannot be written ({why}), although {_name(os.geteuid())} may: look for a file system "
            "that is mounted read-only, and for the attribute `i` (`lsattr`)"
        )
    )


def _file_problem(path: Path) -> str | None:
    try:
        found, own = path.stat(), os.geteuid()
    except OSError:
        return None
    if own not in (0, found.st_uid):
        owner = _name(found.st_uid)
        return (
            f"{path} belongs to {owner}, and Hermes runs as {_name(own)}: run it as {owner}, or give "
            f"the whole home to {_name(own)} (`chown -R`)"
        )
    mode = stat.S_IMODE(found.st_mode)
    if os.access(path, _WRITABLE):
        return None
    return (
        f"{path} is read-only for {_name(own)}, who owns it (mode {mode:04o}, expected 0600): run "
        f"chmod 600 {path}"
    )


def _folder_problem(path: Path) -> str | None:
    if os.access(path, _WRITABLE | os.X_OK):
        return None
    return (
        f"the folder {path} cannot be written by {_name(os.geteuid())}, who runs Hermes: SQLite makes "
        "files beside its database; correct the owner or the mode of the folder"
    )


def _name(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name} ({uid})"
    except KeyError:
        return f"user {uid}"
