"""When each platform last received and last sent something: traffic proves liveness.

In memory only. Channels, the outbox, the REST API and the web chat report here; status reads it.
"""

import msgspec

from hermes.ports.clock import Clock

# Callers that disconnect take no answer: this many of their messages are remembered.
_MOST_ASKED = 1_000


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """When something last came in from a platform, and when it last took something."""

    last_in: float | None = None
    last_out: float | None = None


class Traffic:
    """The traffic of every platform since the start."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._in: dict[str, float] = {}
        self._out: dict[str, float] = {}
        self._asked: dict[str, str] = {}

    def came(self, platform: str) -> None:
        """Record that an authentic event came in."""
        self._in[platform] = self._clock.now()

    def went(self, platform: str) -> None:
        """Record that the platform has taken a message or an edit."""
        self._out[platform] = self._clock.now()

    def asked(self, platform: str, message_id: str) -> None:
        """Record a message from a caller who takes the answer on the same connection."""
        self._in[platform] = self._clock.now()
        if len(self._asked) >= _MOST_ASKED:
            del self._asked[next(iter(self._asked))]
        self._asked[message_id] = platform

    def taken(self, message_id: str) -> None:
        """Record that a waiting caller has received its answer."""
        platform = self._asked.pop(message_id, None)
        if platform is not None:
            self._out[platform] = self._clock.now()

    def of(self, platform: str) -> Flow:
        """Return the traffic of a platform."""
        return Flow(last_in=self._in.get(platform), last_out=self._out.get(platform))
