"""The circuit breaker of one platform: after many failures in a row, sending stops for a while.

The state and its changes are pure; `BreakerGate` holds the current state and hands out passes.
"""

import msgspec

from hermes.outbox.intervals import OutboxTiming


class Breaker(msgspec.Struct, frozen=True, kw_only=True):
    """Closed while `open_until` is None; after that time one trial call may pass.

    `count` is how many calls in a row have failed.
    """

    failures: tuple[float, ...] = ()
    count: int = 0
    opened_at: float = 0.0
    open_until: float | None = None
    on_trial: bool = False


class Pass(msgspec.Struct, frozen=True):
    """The right to make one wire call."""

    trial: bool


def is_blocked(breaker: Breaker, now: float) -> bool:
    """Return True if no call may be made now."""
    if breaker.open_until is None:
        return False
    # Before it was opened: the clock was set back, which would keep it open for as long.
    return breaker.on_trial or breaker.opened_at <= now < breaker.open_until


def after_failure(breaker: Breaker, now: float, *, trial: bool, timing: OutboxTiming) -> Breaker:
    """Return the state after a failed call."""
    if breaker.open_until is not None:
        # A call that had started before the breaker opened says nothing new.
        return _opened(now, timing, count=breaker.count + 1) if trial else breaker
    failures = (*breaker.failures, now)[-timing.breaker_failures :]
    is_full = len(failures) == timing.breaker_failures
    count = breaker.count + 1
    if is_full and now - failures[0] <= timing.breaker_window_s:
        return _opened(now, timing, count=count)
    return Breaker(failures=failures, count=count)


def _opened(now: float, timing: OutboxTiming, *, count: int) -> Breaker:
    return Breaker(opened_at=now, open_until=now + timing.breaker_open_s, count=count)


class BreakerGate:
    """Holds the breaker's state for the sender."""

    def __init__(self, timing: OutboxTiming) -> None:
        self._timing = timing
        self._state = Breaker()

    @property
    def state(self) -> Breaker:
        """The current state."""
        return self._state

    def enter(self, now: float) -> Pass | None:
        """Return the right to make one call, or None while the breaker is open."""
        if is_blocked(self._state, now):
            return None
        trial = self._state.open_until is not None
        if trial:
            self._state = msgspec.structs.replace(self._state, on_trial=True)
        return Pass(trial)

    def leave(self, entry: Pass, now: float, *, failed: bool | None) -> None:
        """Report how the call went; None if it was not made."""
        if failed is None:
            if entry.trial:
                self._state = msgspec.structs.replace(self._state, on_trial=False)
        elif failed:
            self._state = after_failure(self._state, now, trial=entry.trial, timing=self._timing)
        else:
            self._state = Breaker()
