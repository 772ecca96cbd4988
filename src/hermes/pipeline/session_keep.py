"""How long what is ready of a session is kept: what was read, decoded and put together for its turns.

The things themselves stand where they are made; here is only which sessions may have any. A session
has some from its first turn on until it was quiet for long, until too many others were used after
it, or until its model, its tools or its configuration are others. A turn that fails changes nothing.
What is let go is made again by the next turn: nothing that runs is ever ended from here.
"""

from collections import OrderedDict
from collections.abc import Callable

from hermes.config import SessionCacheSettings
from hermes.pipeline.turn import Turn
from hermes.ports.clock import Clock

# How many sessions that run are passed over before the rest is left to the next sweep.
_TRIES = 4
Signature = tuple[object, ...]


class SessionKeep:
    """The sessions that have something ready, the least recently used first.

    `release` lets go of what is ready of a lane; `is_running` tells whether a turn needs it now.
    """

    def __init__(
        self,
        settings: SessionCacheSettings,
        *,
        clock: Clock,
        release: Callable[[str], None],
        is_running: Callable[[str], bool],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._release = release
        self._is_running = is_running
        self._used: OrderedDict[str, tuple[float, Signature]] = OrderedDict()

    def __len__(self) -> int:
        """How many sessions have something ready."""
        return len(self._used)

    def use(self, lane: str, signature: Signature) -> None:
        """A turn begins: what is ready of its session is good, unless it was made for another setup."""
        known = self._used.get(lane)
        if known is not None and known[1] != signature:
            self._release(lane)
        self._used[lane] = (self._clock.monotonic(), signature)
        if known is not None:
            self._used.move_to_end(lane)
        elif len(self._used) > self._settings.max:
            self._make_room()

    def drop(self, lane: str) -> None:
        """A session has ended."""
        self._used.pop(lane, None)
        self._release(lane)

    def sweep(self) -> None:
        """Let go of sessions that were quiet for too long, and of the oldest if there are too many."""
        too_old = self._clock.monotonic() - self._settings.idle_s
        for lane, (used_at, _) in list(self._used.items()):
            if used_at > too_old and len(self._used) <= self._settings.max:
                break
            if not self._is_running(lane):
                self.drop(lane)

    def _make_room(self) -> None:
        for _ in range(_TRIES):
            oldest = next(iter(self._used))
            if not self._is_running(oldest):
                self.drop(oldest)
                return
            # It is in use.
            _, signature = self._used.pop(oldest)
            self._used[oldest] = (self._clock.monotonic(), signature)


def signature_of(turn: Turn, default_model: str | None, *, tools: object) -> Signature:
    """Return what has to stay the same for a session's things to stay good."""
    return (turn.agent, turn.choices.model or default_model, tools)
