"""The rate limits of a platform: messages per second in total, the gap within one chat, and windows.

`SendTimes` and its changes are pure. Every call takes the next free slot and there are no bursts, so
that a restart cannot add one burst to another. `RateGate` holds the current state of a platform;
replies reserve slots ahead, previews take a slot only if nobody has reserved it.
"""

from collections.abc import Iterable, Mapping

import msgspec

from hermes.errors import DeliveryError, FailureClass
from hermes.outbox.rate_windows import RateWindows
from hermes.ports.channel import Capabilities, PushChannel, Target
from hermes.ports.clock import Clock

# Replies reserve slots this far ahead; anything later waits in the store.
LOOK_AHEAD_S = 1.0
# However long a platform asks for silence, it is tried again after this.
_LONGEST_HOLD_S = 3600.0
# Above this many remembered chats, those that need not wait are forgotten.
_FEW_CHATS = 64


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest's limits as gaps in seconds; 0 means no limit."""

    gap_s: float = 0.0
    chat_gap_s: float = 0.0
    group_gap_s: float = 0.0

    def chat_gap(self, target: Target) -> float:
        """Return how far apart messages to this chat must be."""
        return self.group_gap_s if target.group and self.group_gap_s > 0 else self.chat_gap_s


def limits_of(capabilities: Capabilities) -> Limits:
    """Return the limits that a manifest declares."""
    rate = capabilities.per_second
    return Limits(
        gap_s=1.0 / rate if rate > 0 else 0.0,
        chat_gap_s=capabilities.chat_gap_s,
        group_gap_s=capabilities.group_gap_s,
    )


class SendTimes(msgspec.Struct, frozen=True, kw_only=True):
    """When the next message may be sent, on the platform and in one chat."""

    platform_at: float
    chat_at: float

    @property
    def slot(self) -> float:
        """The earliest time that both allow."""
        return max(self.platform_at, self.chat_at)


def after_slot(spacing: SendTimes, now: float, *, gap_s: float, chat_gap_s: float) -> SendTimes:
    """Return the spacing after the next slot is taken."""
    slot = max(now, spacing.slot)
    # The platform's slots continue from where they were: a chat that must wait delays no other.
    platform_at = max(now, spacing.platform_at) + gap_s
    return SendTimes(platform_at=platform_at, chat_at=slot + chat_gap_s)


class RateGate:
    """The rate limit of one platform, shared by senders and previews.

    Time is monotonic. A chat counts as written to when the process starts, because the previous
    process may have done so.
    """

    def __init__(self, limits: Limits, clock: Clock, *, windows: RateWindows | None = None) -> None:
        self._limits = limits
        self.windows = windows or RateWindows(())
        self._clock = clock
        self._since = clock.monotonic()
        self._platform_at = self._since + limits.gap_s
        self._held_until = 0.0
        self._chats: dict[str, float] = {}
        self._held_chats: dict[str, float] = {}
        self._forget_at = _FEW_CHATS

    def wait_s(self, target: Target) -> float:
        """Return how long a reply to this chat must wait; 0 if it may be sent now."""
        now = self._clock.monotonic()
        ahead = self._platform_at - LOOK_AHEAD_S
        chat_at = max(self._chat_at(target), self.windows.next_at(target.chat_id))
        return max(0.0, max(ahead, chat_at, self._hold(target)) - now)

    def remember(self, sends: Iterable[tuple[str, float]]) -> None:
        """Count what an earlier process has sent, each as its chat and how long ago, the oldest first."""
        now = self._clock.monotonic()
        self.windows.remember((chat_id, now - ago) for chat_id, ago in sends)

    def preview_wait_s(self, target: Target) -> float:
        """Return how long a preview in this chat must wait; replies go first."""
        now = self._clock.monotonic()
        slot = self._spacing(target).slot
        return max(0.0, max(slot, self._hold(target)) - now)

    def take(self, target: Target) -> float:
        """Take the next slot; return how long to wait for it."""
        now = self._clock.monotonic()
        spacing = self._spacing(target)
        gap = self._limits.chat_gap(target)
        after = after_slot(spacing, now, gap_s=self._limits.gap_s, chat_gap_s=gap)
        self._platform_at = after.platform_at
        if gap > 0:
            self._forget(now)
            self._chats[target.chat_id] = after.chat_at
        self.windows.take(target.chat_id, max(now, spacing.slot))
        return max(0.0, spacing.slot - now)

    def is_held(self, target: Target) -> bool:
        """Return whether the platform has said that nothing may be sent there now."""
        return self._hold(target) > self._clock.monotonic()

    def blocked(self) -> int:
        """Return how many chats must wait for a slot of their own, at most."""
        return len(self._chats) + len(self._held_chats)

    def failed(self, target: Target, error: DeliveryError) -> None:
        """Slow down if the platform asked for it: one chat, or the whole platform."""
        wait = error.retry_after
        if error.failure is not FailureClass.RATE_LIMITED or wait is None or not wait > 0:
            return
        until = self._clock.monotonic() + min(wait, _LONGEST_HOLD_S)
        if error.platform_wide:
            self._held_until = max(self._held_until, until)
        else:
            self._forget(self._clock.monotonic())
            held = self._held_chats.get(target.chat_id, 0.0)
            self._held_chats[target.chat_id] = max(held, until)

    def _chat_at(self, target: Target) -> float:
        gap = self._limits.chat_gap(target)
        return self._chats.get(target.chat_id, self._since + gap) if gap > 0 else 0.0

    def _hold(self, target: Target) -> float:
        return max(self._held_until, self._held_chats.get(target.chat_id, 0.0))

    def _spacing(self, target: Target) -> SendTimes:
        platform_at = self._platform_at if self._limits.gap_s > 0 else 0.0
        chat_at = max(self._chat_at(target), self.windows.next_at(target.chat_id))
        return SendTimes(platform_at=platform_at, chat_at=chat_at)

    def _forget(self, now: float) -> None:
        if self.blocked() < self._forget_at:
            return
        # Times before the start count as the start, which is in the past by now.
        self._chats = _future(self._chats, now)
        self._held_chats = _future(self._held_chats, now)
        self._forget_at = max(_FEW_CHATS, 2 * self.blocked())


def _future(chats: Mapping[str, float], now: float) -> dict[str, float]:
    return {chat: at for chat, at in chats.items() if at > now}


class Rates:
    """The rate gates of all platforms, shared by senders and previews."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._gates: dict[str, RateGate] = {}

    def of(self, channel: PushChannel) -> RateGate:
        """Return the gate of a channel's platform."""
        gate = self._gates.get(channel.name)
        if gate is None:
            able = channel.capabilities
            gate = RateGate(limits_of(able), self._clock, windows=RateWindows(able.rates))
            self._gates[channel.name] = gate
        return gate
