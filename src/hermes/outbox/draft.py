"""Shows a reply while it is being written as a draft, where the platform has such a thing.

No message stands until the reply itself is sent, so there is no row and nothing to continue from.
"""

import zlib

from hermes.errors import DeliveryError
from hermes.outbox.channel_calls import ChannelCalls
from hermes.outbox.edit_loop import EditLoop
from hermes.ports.channel import Target

# Platforms take ids of 32 bits with a sign, and 0 for none.
_IDS = 0x7FFFFFFF


class DraftDisplay:
    """Fits `paced.Display`."""

    def __init__(self, wire: ChannelCalls, target: Target, *, draft_id: int) -> None:
        self._wire = wire
        self._target = target
        self._draft_id = draft_id

    def wanted(self, text: str) -> str:
        """Return the text as it is; nothing where a blank draft would be shown."""
        return text if text.strip() else ""

    async def show(self, text: str) -> bool:
        """Replace the draft, which is only ever one message: the last of the reply so far."""
        last = self._wire.texts(text)[-1]
        await self._wire.draft(self._target, self._draft_id, text=last)
        return True

    def can_try_again(self, error: DeliveryError) -> bool:
        """Whatever failed, the next draft replaces it."""
        return True


class DraftPreview:
    """One reply being shown; fits `ports.upward.Preview`."""

    def __init__(self, show: EditLoop) -> None:
        self._show = show

    async def update(self, text: str) -> None:
        """Show the text so far, as soon as the pace allows; returns at once."""
        self._show.update(text)

    async def close(self) -> None:
        """Show no more."""
        await self._show.close()


def draft_id(delivery_id: str) -> int:
    """Return the number of a delivery's draft, the same after a restart."""
    return zlib.crc32(delivery_id.encode()) & _IDS or 1
