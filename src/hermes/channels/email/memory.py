"""What the channel remembers: since when mail of this mailbox is answered."""

import contextlib
from typing import Final

import msgspec

from hermes.ports.channel_state import PlatformState

# The name of the file that an earlier version wrote.
_KEY: Final = "mailbox.json"


class MailboxStart(msgspec.Struct, frozen=True, kw_only=True):
    """When the mailbox was first opened; mail from before `floor` is never answered."""

    floor: float


async def begun(state: PlatformState, *, now: float, age_s: float) -> MailboxStart:
    """Return since when mail is answered; the very first call decides and stores it."""
    content = await state.get(_KEY)
    if content is not None:
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(content, type=MailboxStart)
    made = MailboxStart(floor=now - age_s)
    await state.put(_KEY, msgspec.json.encode(made))
    return made
