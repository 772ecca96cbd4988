"""Reads a file that somebody names on the command line: looked at before it is read, and never too much of it."""

import stat
from pathlib import Path

from hermes.errors import BadRequest, TooLarge


def read_named_file(path: Path, *, most: int, limit: str) -> bytes:
    """Return the bytes of a file; raise for one that is none, cannot be read, or is too large.

    `limit` says in words what at most so many bytes fit into.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise BadRequest(f"{path} is not a file: name a file with --file.")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise BadRequest(f"Cannot read {path}: {error.strerror}.") from error
    if len(data) > most:
        raise TooLarge(f"{path} has {found.st_size:,} bytes: at most {most:,} {limit}.")
    return data
