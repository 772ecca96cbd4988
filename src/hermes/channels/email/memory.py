"""What the channel remembers on disk: since when mail of this mailbox is answered."""

import contextlib
from pathlib import Path
from typing import Final

import msgspec

from hermes.durable_file import write_durably

_FILE: Final = "mailbox.json"


class MailboxStart(msgspec.Struct, frozen=True, kw_only=True):
    """When the mailbox was first opened; mail from before `floor` is never answered."""

    floor: float


def begun(folder: Path, *, now: float, age_s: float) -> MailboxStart:
    """Return since when mail is answered; the very first call decides and stores it."""
    path = folder / _FILE
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=MailboxStart)
    made = MailboxStart(floor=now - age_s)
    write_durably(path, msgspec.json.encode(made))
    return made
