"""The little that the channel remembers on disk: since when mail of this mailbox is answered."""

import contextlib
from pathlib import Path
from typing import Final

import msgspec

from hermes.durable_file import write_durably

_FILE: Final = "mailbox.json"


class MailboxStart(msgspec.Struct, frozen=True, kw_only=True):
    """When the mailbox was first opened; mail that came before `floor` is never answered."""

    floor: float


def begun(folder: Path, *, now: float, age_s: float) -> MailboxStart:
    """Return since when mail is answered; the first call of all decides it, and writes it down."""
    path = folder / _FILE
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=MailboxStart)
    made = MailboxStart(floor=now - age_s)
    write_durably(path, msgspec.json.encode(made))
    return made
