"""For how long a person can be answered after they have written, where each message opens the time anew.

The time of the last message is kept per chat, over restarts. Unlike a reply handle it also knows about
what answers no message, such as a scheduled report, and a late answer counts by the newest message.
"""

from typing import Final

from hermes.channel_kit.kept_map import KeptMap
from hermes.errors import FailureClass, ReplyClosed
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import Clock

_MOST: Final = 100_000
# A window that began so little earlier is not written again: a burst of messages is one write.
_COARSE_S: Final = 60.0
_HOUR_S: Final = 3600.0


class ReplyWindow:
    """The windows of all chats of one platform, each `lasts_s` long."""

    def __init__(
        self, state: PlatformState, *, platform: str, lasts_s: float, clock: Clock
    ) -> None:
        self._heard = KeptMap(state, "heard/", most=_MOST, hides_names=True)
        self._platform = platform
        self._lasts_s = lasts_s
        self._clock = clock

    async def heard(self, chat_id: str, *, at: float) -> None:
        """Note that somebody has written in a chat; one that comes late again changes nothing."""
        known = await self._since(chat_id)
        if known is None or at >= known + _COARSE_S:
            await self._heard.put(chat_id, f"{at:.3f}")

    async def is_closed(self, chat_id: str) -> bool:
        """Return whether a chat cannot be written in; of a chat that was never heard, nobody knows."""
        since = await self._since(chat_id)
        return since is not None and self._clock.now() >= since + self._lasts_s

    def closed(self, hint: str) -> ReplyClosed:
        """Return the error for a message that comes too late."""
        hours = self._lasts_s / _HOUR_S
        return ReplyClosed(
            f"{self._platform}: a person can be written to for {hours:.0f} h after their last message, "
            f"and this is later; nothing was sent. {hint}",
            FailureClass.REPLY_CLOSED,
        )

    async def _since(self, chat_id: str) -> float | None:
        found = await self._heard.get(chat_id)
        return None if found is None else float(found)
