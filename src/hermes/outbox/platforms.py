"""The push platforms of a gateway: who sends to each, which are connected, and which are paused.

Between the connections, which report here what is connected and lost, and the senders. Operators
pause a platform; a platform whose connection is lost sends nothing either, until it is reconnected.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

import msgspec

from hermes.outbox.channel_calls import LongReplies
from hermes.outbox.chat_infos import ChatInfos
from hermes.outbox.delivery_notes import Mask
from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.live_previews import LivePreviews
from hermes.outbox.rates import Rates
from hermes.outbox.reaction_marks import ReactionMarks
from hermes.outbox.sender import OutboxSender
from hermes.outbox.traffic import Traffic
from hermes.ports.channel import PushChannel
from hermes.ports.clock import Clock
from hermes.ports.offers import OfferStore
from hermes.ports.outbox import OutboxStore
from hermes.ports.signals import Signals


def _never(_platform: str) -> bool:
    return False


class SharedLimits(msgspec.Struct, frozen=True):
    """What previews and replies of the same platforms share."""

    traffic: Traffic
    rates: Rates
    previews: LivePreviews
    long: LongReplies


class PushPlatforms:
    """Starts and pauses the sender of every push platform."""

    def __init__(
        self,
        store: OutboxStore,
        *,
        timing: OutboxTiming,
        clock: Clock,
        signals: Signals,
        mask: Mask = str,
        long: LongReplies | None = None,
        offers: OfferStore | None = None,
        reacts: Callable[[str], bool] = _never,
    ) -> None:
        self._store = store
        self._offers = offers
        self._timing = timing
        self._clock = clock
        self._mask = mask
        long = long or LongReplies()
        self.shared = SharedLimits(Traffic(clock), Rates(clock), LivePreviews(), long)
        self.senders: dict[str, OutboxSender] = {}
        self._connected: dict[str, PushChannel] = {}
        self._sending: dict[str, PushChannel] = {}
        self._paused: set[str] = set()
        self.marks = ReactionMarks(
            self._sending, rates=self.shared.rates, wanted=reacts, timeout_s=timing.send_timeout_s
        )
        self.chat_infos = ChatInfos(self._sending, clock=clock)
        signals.add_outbox(self.wake)

    @property
    def traffic(self) -> Traffic:
        """When each platform last brought and took a message."""
        return self.shared.traffic

    @property
    def sending(self) -> Mapping[str, PushChannel]:
        """The channels that are connected and not paused; the mapping follows every change."""
        return self._sending

    @property
    def paused(self) -> Collection[str]:
        """The platforms that an operator paused; the collection follows every change."""
        return self._paused

    def connected(self, channel: PushChannel) -> None:
        """Send a platform's replies, now that its channel is connected (again)."""
        self._connected[channel.name] = channel
        if channel.name not in self.senders:
            self.senders[channel.name] = self._sender(channel)
        # Another channel may have replaced the one that the sender started with.
        self.senders[channel.name].use(channel)
        self._apply()
        self.senders[channel.name].start()

    def lost(self, platform: str) -> None:
        """Send nothing to a platform until it is reconnected."""
        self._connected.pop(platform, None)
        self._apply()

    def pause(self, platforms: Collection[str]) -> None:
        """Accept and send nothing on these platforms, and resume all others."""
        wanted = set(platforms)
        self._paused.clear()
        self._paused.update(wanted)
        self._apply()

    def wake(self, platform: str) -> None:
        """Look now for replies to a platform."""
        sender = self.senders.get(platform)
        if sender is not None:
            sender.wake()

    def served(self) -> tuple[str, ...]:
        """Return the platforms whose replies this process sends, or holds back for an operator.

        What waits for a lost connection grows old, as with a connection that was never made.
        """
        return (*self._connected, *self._paused)

    def breaker_of(self, platform: str) -> tuple[float, int] | None:
        """Return until when nothing is sent to a platform, and after how many failures."""
        sender = self.senders.get(platform)
        breaker = None if sender is None else sender.breaker
        if breaker is None or breaker.open_until is None:
            return None
        is_open = breaker.open_until > self._clock.now()
        return (breaker.open_until, breaker.count) if is_open else None

    async def drain(self, flush_s: float) -> None:
        """Send what is due, for `flush_s` at most, and wait for what is being sent."""
        senders = self.senders.values()
        await _all(sender.flush(flush_s) for sender in senders)
        await _all(sender.drain() for sender in senders)

    async def stop(self) -> None:
        """End every sender, and what goes on beside them."""
        senders = [sender.stop() for sender in self.senders.values()]
        await _all((*senders, self.marks.stop(), self.chat_infos.stop()))

    def _sender(self, channel: PushChannel) -> OutboxSender:
        return OutboxSender(
            channel,
            self._store,
            timing=self._timing,
            clock=self._clock,
            traffic=self.shared.traffic,
            rates=self.shared.rates.of(channel),
            screens=self.shared.previews,
            mask=self._mask,
            long=self.shared.long,
            offers=self._offers,
        )

    def _apply(self) -> None:
        self._sending.clear()
        for name, sender in self.senders.items():
            is_paused = name in self._paused or name not in self._connected
            sender.pause(is_paused)
            if not is_paused:
                self._sending[name] = self._connected[name]


async def _all(steps: Iterable[Awaitable[None]]) -> None:
    """Wait for every sender, also if one fails; raises the first error."""
    ends = await asyncio.gather(*steps, return_exceptions=True)
    for error in filter(None, ends):
        raise error
