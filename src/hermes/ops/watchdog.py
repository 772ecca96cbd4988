"""Detects that the event loop is blocked, and where: a thread checks a heartbeat of the loop.

The heartbeat also tells systemd that the service is alive, so that a permanently blocked loop is
restarted. Nothing here knows what the loop does.
"""

import asyncio
import sys
import threading
import traceback
from collections.abc import Callable
from types import FrameType

import structlog

_BEAT_S = 1.0
_FRAMES = 25
_log = structlog.get_logger(__name__)

Monotonic = Callable[[], float]


class LoopWatch:
    """Decides from heartbeats and checks whether the loop is blocked; times are passed in."""

    def __init__(self, stall_s: float, *, now: float) -> None:
        self._stall_s = stall_s
        self._beat_at = now
        self._is_told = False

    def beat(self, now: float) -> float | None:
        """Record a heartbeat; return how long the loop was blocked, if that was reported."""
        stalled = now - self._beat_at if self._is_told else None
        self._beat_at = now
        self._is_told = False
        return stalled

    def look(self, now: float) -> float | None:
        """Return how long the loop has been blocked, once per stall."""
        still = now - self._beat_at
        if self._is_told or still < self._stall_s:
            return None
        self._is_told = True
        return still


class Watchdog:
    """A heartbeat in the loop and a thread that checks it; `pet` is called while the loop runs."""

    def __init__(
        self,
        *,
        stall_s: float,
        monotonic: Monotonic,
        pet: Callable[[], None],
        beat_s: float = _BEAT_S,
    ) -> None:
        self._monotonic = monotonic
        self._pet = pet
        self._beat_s = min(beat_s, stall_s / 4) if stall_s else beat_s
        self._watch = LoopWatch(stall_s, now=monotonic()) if stall_s else None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._of_loop = 0

    def start(self) -> None:
        """Start the heartbeat in the running loop and the thread that checks it."""
        self._of_loop = threading.get_ident()
        self._beat()
        if self._watch is not None:
            self._thread = threading.Thread(target=self._look, name="watchdog", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop both."""
        self._ended.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._thread is not None:
            self._thread.join()

    def _beat(self) -> None:
        stalled = None if self._watch is None else self._watch.beat(self._monotonic())
        if stalled is not None:
            _log.warning("loop_moves_again", stalled_s=round(stalled, 1))
        self._pet()
        self._timer = asyncio.get_running_loop().call_later(self._beat_s, self._beat)

    def _look(self) -> None:
        assert self._watch is not None
        while not self._ended.wait(self._beat_s):
            still = self._watch.look(self._monotonic())
            if still is not None:
                frame = sys._current_frames().get(self._of_loop)
                _log.error("loop_stalled", still_s=round(still, 1), stack=stack_of(frame))


def stack_of(frame: FrameType | None) -> list[str]:
    """Return the stack of a thread, innermost frame last."""
    if frame is None:
        return []
    found = traceback.extract_stack(frame)[-_FRAMES:]
    return [f"{one.filename}:{one.lineno} {one.name}" for one in found]
