"""Shows a growing text by editing it as often as the platform allows, in its own task.

The running turn supplies the text; a `Display` makes the platform calls. Nothing here fails a turn:
what cannot be shown is skipped.
"""

import asyncio
from typing import Protocol

import msgspec
import structlog

from hermes.errors import DeliveryError, DeliveryRejected, StoreError, TryLater
from hermes.outbox.alarm import Alarm, Sleep
from hermes.outbox.intervals import PreviewTiming
from hermes.outbox.rates import RateGate
from hermes.ports.channel import Target
from hermes.ports.clock import Clock

log = structlog.get_logger(__name__)


class Display(Protocol):
    """Where a text is shown."""

    def wanted(self, text: str) -> str:
        """Return what should be visible; empty for a text with nothing to show yet."""
        ...

    async def show(self, text: str) -> bool:
        """Make the next platform call; return True once the whole text is shown."""
        ...

    def can_try_again(self, error: DeliveryError) -> bool:
        """Return True if a call that failed this way may be repeated."""
        ...


class EditLoop:
    """One text on one display."""

    def __init__(
        self,
        display: Display,
        target: Target,
        *,
        name: str,
        rates: RateGate,
        timing: PreviewTiming,
        clock: Clock,
        sleep: Sleep,
    ) -> None:
        self._display = display
        self._target = target
        self._name = name
        self._rates = rates
        self._timing = timing
        self._clock = clock
        self._alarm = Alarm(sleep)
        self._pace = EditRate(interval_s=timing.interval_s)
        self._wanted = ""
        self._shown = ""
        self._done = False
        self._task: asyncio.Task[None] | None = None

    def update(self, text: str) -> None:
        """Show the text so far as soon as the rate allows; return at once."""
        self._wanted = text
        if self._task is None and not self._done:
            self._task = asyncio.create_task(self._run(), name=f"preview:{self._name}")
        self._alarm.ring()

    async def close(self) -> None:
        """Stop showing; wait for the call under way, so that it cannot overtake the reply."""
        self._done = True
        self._alarm.ring()
        if self._task is None:
            return
        await asyncio.wait({self._task}, timeout=self._timing.close_wait_s)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    async def _run(self) -> None:
        try:
            while not self._done:
                await self._alarm.wait(await self._tick())
        # Boundary: the preview's own task; the turn continues without it.
        except Exception:
            log.exception("preview.failed", delivery=self._name)

    async def _tick(self) -> float:
        """Show what is new if it is time; return how long to wait."""
        text = self._display.wanted(self._wanted)
        if not text or text == self._shown:
            return self._timing.idle_poll_s
        new_chars = abs(len(text) - len(self._shown))
        now = self._clock.now()
        wait = wait_for(self._pace, now, new_chars=new_chars, timing=self._timing)
        if wait <= 0 and self._rates.preview_wait_s(self._target) > 0:
            # Replies reserve slots meanwhile, so there is no point in waking up for each of them.
            wait = max(self._rates.preview_wait_s(self._target), self._timing.rate_poll_s)
        if wait > 0:
            return wait
        self._rates.take(self._target)
        await self._try_to_show(text)
        return 0.0

    async def _try_to_show(self, text: str) -> None:
        try:
            is_whole = await self._display.show(text)
        except DeliveryRejected as error:
            self._give_up(error.failure)
        except DeliveryError as error:
            self._strike(error)
        except (StoreError, TryLater) as error:
            self._give_up(error.code)
        else:
            # The end of one message and the beginning of the next count as one update.
            if is_whole:
                self._shown = text
                self._pace = after_show(self._pace, self._clock.now())

    def _strike(self, error: DeliveryError) -> None:
        self._rates.failed(self._target, error)
        if not self._display.can_try_again(error):
            self._give_up(error.failure)
            return
        self._pace = after_strike(
            self._pace,
            self._clock.now(),
            retry_after=error.retry_after,
            slow_down=self._timing.slow_down,
        )
        if self._pace.strikes >= self._timing.max_strikes:
            self._give_up(error.failure)

    def _give_up(self, reason: str) -> None:
        self._done = True
        log.info("preview.given_up", reason=str(reason), delivery=self._name)


class EditRate(msgspec.Struct, frozen=True, kw_only=True):
    """The current edit rate: the interval, how often it was too fast, and the last edit."""

    interval_s: float
    strikes: int = 0
    struck: bool = False
    shown_at: float | None = None
    not_before: float = 0.0


def wait_for(pace: EditRate, now: float, *, new_chars: int, timing: PreviewTiming) -> float:
    """Return how long to wait before showing `new_chars` more; 0 if they may be shown now."""
    held = max(0.0, pace.not_before - now)
    if pace.shown_at is None:
        return held
    # After a refusal only time counts: much new text must not cause another one.
    if new_chars >= timing.min_chars and not pace.struck:
        return held
    return max(held, pace.shown_at + pace.interval_s - now)


def after_show(pace: EditRate, now: float) -> EditRate:
    """Return the rate after a successful edit; a longer interval is kept."""
    return msgspec.structs.replace(pace, shown_at=now, strikes=0)


def after_strike(
    pace: EditRate, now: float, *, retry_after: float | None, slow_down: float = 2.0
) -> EditRate:
    """Return the rate after the platform refused an edit for now: slower by that factor."""
    interval_s = pace.interval_s * slow_down
    return EditRate(
        interval_s=interval_s,
        strikes=pace.strikes + 1,
        struck=True,
        shown_at=pace.shown_at,
        not_before=now + max(interval_s, retry_after or 0.0),
    )
