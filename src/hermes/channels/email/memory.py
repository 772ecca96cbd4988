"""The little that the channel remembers on disk: since when mail of this mailbox is answered."""

import contextlib
import os
from pathlib import Path
from typing import Final

import msgspec

_FILE: Final = "mailbox.json"


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """When the mailbox was first opened; mail that came before `floor` is never answered."""

    floor: float


def begun(folder: Path, *, now: float, age_s: float) -> Begun:
    """Return since when mail is answered; the first call of all decides it, and writes it down."""
    path = folder / _FILE
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=Begun)
    made = Begun(floor=now - age_s)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(made))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return made
