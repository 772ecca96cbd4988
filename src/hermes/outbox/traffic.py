"""When each platform was last heard from and last took something: liveness is proven by traffic.

Kept in memory only; channels' events and the outbox's calls are noted here, and what callers of the
REST API and the web chat ask and take. Status reads it.
"""

import msgspec

from hermes.ports.clock import Clock

# Callers that hang up take no answer: so many of their messages are remembered.
_MOST_ASKED = 1_000


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """The last time something came in from a platform, and the last time it took something."""

    last_in: float | None = None
    last_out: float | None = None


class Traffic:
    """The flow of every platform since the start."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._in: dict[str, float] = {}
        self._out: dict[str, float] = {}
        self._asked: dict[str, str] = {}

    def came(self, platform: str) -> None:
        """Something authentic has come in."""
        self._in[platform] = self._clock.now()

    def went(self, platform: str) -> None:
        """The platform has taken a message or an edit."""
        self._out[platform] = self._clock.now()

    def asked(self, platform: str, message_id: str) -> None:
        """A caller has brought a message, and takes the answer where it came from."""
        self._in[platform] = self._clock.now()
        if len(self._asked) >= _MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        self._asked[message_id] = platform

    def taken(self, message_id: str) -> None:
        """Whoever waited for a message has its answer."""
        platform = self._asked.pop(message_id, None)
        if platform is not None:
            self._out[platform] = self._clock.now()

    def of(self, platform: str) -> Flow:
        """Return what is known of a platform."""
        return Flow(last_in=self._in.get(platform), last_out=self._out.get(platform))
