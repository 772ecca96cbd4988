"""Owns the outbox of one push platform: takes due rows and serves its chats in parallel.

Replies within a chat go out one after the other; the number of chats served at once is limited.
`platforms.py` starts it after the channel has connected. On stop every row stays as it is for the next
start.
"""

import asyncio
import random
from collections.abc import Coroutine
from contextlib import suppress

import structlog

from hermes.errors import GuardFailed, HermesError
from hermes.outbox.alarm import Alarm, Sleep
from hermes.outbox.attempt import Attempts, Chance
from hermes.outbox.backoff import Lost, is_too_old
from hermes.outbox.breaker import Breaker, BreakerGate, is_blocked
from hermes.outbox.channel_calls import ChannelCalls, LongReplies
from hermes.outbox.delivery_notes import Mask
from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.live_previews import LivePreviews
from hermes.outbox.post_changes import PostChanges
from hermes.outbox.rates import RateGate, Rates
from hermes.outbox.traffic import Traffic
from hermes.outbox.unknown_worker import UnknownWorker
from hermes.ports.channel import PushChannel
from hermes.ports.clock import Clock
from hermes.ports.offers import OfferStore
from hermes.ports.outbox import DeliveryRecord, OutboxStore

log = structlog.get_logger(__name__)
# Among how many chats with waiting replies the only one is looked for.
_MOST_CHATS = 10_000

# How often posted messages that are to be changed are looked for, at most.
_CHANGES_S = 1.0


class OutboxSender:
    """Sends the replies of one push platform; with `only_chat`, those to one chat."""

    def __init__(
        self,
        channel: PushChannel,
        store: OutboxStore,
        *,
        timing: OutboxTiming,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        chance: Chance = random.random,
        traffic: Traffic | None = None,
        rates: RateGate | None = None,
        screens: LivePreviews | None = None,
        mask: Mask = str,
        long: LongReplies | None = None,
        only_chat: str | None = None,
        offers: OfferStore | None = None,
    ) -> None:
        self._platform = channel.name
        self._only_chat = only_chat
        self._store = store
        self._timing = timing
        self._clock = clock
        self._gate = BreakerGate(timing)
        self._traffic = traffic
        self._long = long
        self._rates = rates or Rates(clock).of(channel)
        self._attempts = Attempts(
            self._calls(channel),
            store,
            gate=self._gate,
            rates=self._rates,
            screens=screens or LivePreviews(),
            timing=timing,
            clock=clock,
            sleep=sleep,
            chance=chance,
            mask=mask,
        )
        self._settling = UnknownWorker(self._attempts)
        self._changes = (
            None
            if offers is None
            else PostChanges(offers, rates=self._rates, clock=clock, sleep=sleep)
        )
        self._changing: asyncio.Task[None] | None = None
        self._changes_at = 0.0
        self._alarm = Alarm(sleep)
        self._loop: asyncio.Task[None] | None = None
        self._chats: dict[str, asyncio.Task[None]] = {}
        self._settles: dict[str, asyncio.Task[None]] = {}
        self._settle_at: dict[str, float] = {}
        # Only one pass reads what is due at a time; what ends during its read is left to the next.
        self._passing = asyncio.Lock()
        self._ended: set[str] = set()
        self._paused_until = 0.0
        # When the first of what only waits for a slot of its rate limit may be sent.
        self._slot_at: float | None = None
        self._draining = False
        self._paused = False
        self._is_remembered = False

    @property
    def breaker(self) -> Breaker:
        """The state of the platform's circuit breaker."""
        return self._gate.state

    @property
    def in_flight(self) -> int:
        """How many deliveries are in progress."""
        return len(self._chats) + len(self._settles)

    def wake(self) -> None:
        """Look for work now; a lost call only delays it."""
        self._alarm.ring()

    def use(self, channel: PushChannel) -> None:
        """Use this channel, whose connection has proven itself, for the following calls."""
        self._attempts.wire = self._calls(channel)
        self._attempts.refused_until = 0.0

    def _calls(self, channel: PushChannel) -> ChannelCalls:
        timeout_s = self._timing.send_timeout_s
        return ChannelCalls(channel, timeout_s=timeout_s, traffic=self._traffic, long=self._long)

    def pause(self, is_paused: bool) -> None:
        """Take nothing new while the operator pauses the platform; calls under way finish."""
        self._paused = is_paused
        self._alarm.ring()

    def start(self) -> None:
        """Start sending; the channel must be connected."""
        if self._loop is None:
            self._draining = False
            self._loop = asyncio.create_task(self._run(), name=f"outbox:{self._platform}")

    async def flush(self, within_s: float) -> None:
        """Send what is due now, for at most `within_s`; waits for rate limits, not for retries."""
        with suppress(TimeoutError, HermesError):
            async with asyncio.timeout(within_s):
                await self._remember_sends()
                await self._flush_once()
                while self.in_flight or self._slot_at is not None:
                    if running := {*self._chats.values(), *self._settles.values()}:
                        await asyncio.wait(running)
                    elif self._slot_at is not None:
                        await self._alarm.wait(max(0.0, self._slot_at - self._clock.now()))
                    await self._flush_once()

    async def _flush_once(self) -> None:
        async with self._passing:
            await self._pass()

    async def drain(self) -> None:
        """Take nothing new and wait, up to the drain time, for calls under way."""
        await self._take_nothing_new()
        running = {*self._chats.values(), *self._settles.values()}
        if running:
            await asyncio.wait(running, timeout=self._timing.drain_s)

    async def stop(self) -> None:
        """End every task; the next start finds a send that is cut off here as unknown."""
        await self._take_nothing_new()
        tasks = [*self._chats.values(), *self._settles.values()]
        if self._changing is not None:
            tasks.append(self._changing)
        if self._loop is not None:
            tasks.append(self._loop)
            self._loop = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _take_nothing_new(self) -> None:
        # A pass that has begun may still start calls: it is waited for.
        async with self._passing:
            self._draining = True

    async def _remember_sends(self) -> None:
        """Count what was sent before the start, for limits of messages in a time."""
        windows, now = self._rates.windows, self._clock.now()
        if self._is_remembered or windows.most == 0:
            return
        since = now - windows.longest_s
        sent = await self._store.sent_since(self._platform, since, limit=windows.most)
        self._rates.remember((chat_id, max(0.0, now - at)) for chat_id, at in sent)
        self._is_remembered = True

    async def _run(self) -> None:
        while True:
            try:
                await self._remember_sends()
                async with self._passing:
                    wait = self._timing.idle_poll_s if self._draining else await self._pass()
            # Boundary: the sender's own loop outlives any failure of one pass.
            except Exception:
                log.exception("outbox.pass_failed", platform=self._platform)
                wait = self._timing.store_pause_s
            await self._alarm.wait(wait)

    async def _pass(self) -> float:
        """Start everything that can start now; return how long there is nothing to do."""
        self._slot_at = None
        if self._paused:
            return self._timing.idle_poll_s
        now = self._clock.now()
        if 0 < self._paused_until - now <= self._timing.store_pause_s:
            return self._paused_until - now
        # The channel stops because of that; one that does not must not be called again and again.
        refused_s = self._attempts.refused_until - now
        if 0 < refused_s <= self._timing.credential_wait_s:
            return min(refused_s, self._timing.idle_poll_s)
        self._start_changes(now)
        await self._start_settles(now)
        coming = await self._start_chats(now)
        coming.extend(at for at in self._settle_at.values() if at > now)
        return min([self._timing.idle_poll_s, *(at - now for at in coming)])

    def _start_changes(self, now: float) -> None:
        """Change what is posted, beside the replies."""
        waits = 0 < self._changes_at - now <= _CHANGES_S
        if self._changes is None or self._changing is not None or waits:
            return
        if is_blocked(self._gate.state, now):
            return
        self._changes_at = now + _CHANGES_S
        work = self._make_changes(self._changes)
        self._changing = asyncio.create_task(work, name=f"outbox:{self._platform}:changes")

    async def _make_changes(self, changes: PostChanges) -> None:
        try:
            await changes.make(self._attempts.wire)
        # Boundary: the task of one round of changes; the next round finds the same ones.
        except Exception:
            log.exception("outbox.changes_failed", platform=self._platform)
        finally:
            self._changing = None

    async def _start_chats(self, now: float) -> list[float]:
        """Serve every chat that can be served; return when the others can."""
        if len(self._chats) >= self._timing.parallel_chats:
            return []
        limit = self._timing.parallel_chats + len(self._chats) + self._rates.blocked()
        if self._only_chat is not None:
            limit = _MOST_CHATS
        self._ended.clear()
        soon = await self._store.due(
            self._platform,
            now + self._timing.idle_poll_s,
            limit=limit,
            at_most_s=self._timing.max_age_s,
        )
        if self._paused:
            return []
        soon = tuple(record for record in soon if self._is_ours(record))
        slots: list[float] = []
        for record in soon:
            chat = record.target.chat_id
            is_free = chat not in self._chats and len(self._chats) < self._timing.parallel_chats
            if is_free and self._may_start(record, now):
                wait = self._rates.wait_s(record.target)
                # A reply that is too old is not sent, so it needs no slot.
                if wait > 0 and not is_too_old(record, now, timing=self._timing):
                    slots.append(now + wait)
                else:
                    self._own(self._chats, chat, record=record, work=self._serve(record))
        self._slot_at = min(slots, default=None)
        open_until = self._gate.state.open_until
        reopens = [open_until] if soon and open_until is not None else []
        times = (*(record.next_at for record in soon), *reopens, *slots)
        return [at for at in times if at > now]

    def _may_start(self, record: DeliveryRecord, now: float) -> bool:
        # An open breaker stops the sending, but replies still expire.
        is_late = is_too_old(record, now, timing=self._timing)
        return self._has_come(record.next_at, now) and (
            is_late or not is_blocked(self._gate.state, now)
        )

    def _has_come(self, at: float, now: float) -> bool:
        """Return whether a time has come; a time too far ahead is from before a clock change."""
        return not 0 < at - now <= self._timing.max_age_s

    def _is_ours(self, record: DeliveryRecord) -> bool:
        is_wanted = self._only_chat in (None, record.target.chat_id)
        return is_wanted and record.id not in self._ended

    async def _start_settles(self, now: float) -> None:
        before = set(self._settle_at)
        self._ended.clear()
        records = await self._store.unsettled(self._platform)
        known = {record.id for record in records}
        for gone in before - known - self._settles.keys() - self._ended:
            del self._settle_at[gone]
        for record in records:
            if not self._is_ours(record):
                continue
            if record.id not in self._settle_at:
                self._settle_at[record.id] = now + self._settling.proof_delay(record)
            at = self._settle_at[record.id]
            room = len(self._settles) < self._timing.parallel_chats
            if self._has_come(at, now) and record.id not in self._settles and room:
                self._own(self._settles, record.id, record=record, work=self._settle(record))

    def _own(
        self,
        tasks: dict[str, asyncio.Task[None]],
        key: str,
        *,
        record: DeliveryRecord,
        work: Coroutine[None, None, None],
    ) -> None:
        task = asyncio.create_task(work, name=f"outbox:{self._platform}:work")
        tasks[key] = task

        def done(_task: asyncio.Task[None]) -> None:
            del tasks[key]
            self._ended.add(record.id)
            self._alarm.ring()

        task.add_done_callback(done)

    async def _serve(self, record: DeliveryRecord) -> None:
        try:
            action = await self._attempts.deliver(record)
            if isinstance(action, Lost):
                delay = self._settling.first_delay(record)
                self._settle_at[record.id] = self._clock.now() + delay
        except GuardFailed:
            log.warning("outbox.row_moved", delivery=record.id, message=record.message_id)
        # Boundary: one delivery's task; its row stays as the store has it.
        except Exception:
            log.exception("outbox.task_failed", delivery=record.id, message=record.message_id)
            self._paused_until = self._clock.now() + self._timing.store_pause_s

    async def _settle(self, record: DeliveryRecord) -> None:
        try:
            again_at = await self._settling.settle(record)
            if again_at is None:
                self._settle_at.pop(record.id, None)
            else:
                self._settle_at[record.id] = again_at
        except GuardFailed:
            log.warning("outbox.row_moved", delivery=record.id, message=record.message_id)
        # Boundary: the task that settles one delivery; its row stays as the store has it.
        except Exception:
            log.exception("outbox.task_failed", delivery=record.id, message=record.message_id)
            self._paused_until = self._clock.now() + self._timing.store_pause_s
