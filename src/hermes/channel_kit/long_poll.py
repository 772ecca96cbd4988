"""Long polls: fetches batches of events, and moves its cursor only behind what is kept.

Between a platform that holds a call open until there is news, and the channel, which says how one is
called and what becomes of an event. A platform forgets what is behind the cursor, or does not tell it
again; so after a crash events are fetched twice, and none is missed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, Protocol, TypeVar

import msgspec
import structlog

from hermes.channel_kit.intake import Sleep, is_passing, pause_s
from hermes.errors import (
    BadRequest,
    DeliveryError,
    DeliveryRejected,
    FailureClass,
    HermesError,
    NotDelivered,
)
from hermes.ports.channel_state import PlatformState
from hermes.ports.clock import Clock

Event = TypeVar("Event")
# One failed poll is normal on the internet; after these delays the connection counts as lost.
_WAITS_S: Final = (0.2, 0.5, 1.0)
# How much longer than the poll itself its answer may take.
GRACE_S: Final = 10.0
# How long after its poll a platform may be silent before nothing is received.
_SILENCE_S: Final = 30.0
_LONGEST_POLL_S: Final = 300.0
# A platform that answers at once without news is asked again after this pause.
_AT_ONCE_S: Final = 0.05
_BREATH_S: Final = 0.5
_log = structlog.get_logger(__name__)


class PolledEvent(msgspec.Struct, Generic[Event], frozen=True, kw_only=True):
    """One event of a batch.

    `chat` is where its order matters. `cursor` is the one from which the platform would tell it and
    all behind it again; None if only the whole batch can be repeated.
    """

    event: Event
    chat: str = ""
    cursor: str | None = None


class PollPage(msgspec.Struct, Generic[Event], frozen=True, kw_only=True):
    """One answer: the events, the cursor behind them (None: it stays), and the time the platform
    wants the next poll to last.
    """

    events: Sequence[PolledEvent[Event]] = ()
    cursor: str | None = None
    poll_s: float | None = None


class PollCursor(Protocol):
    """Where the position in the stream of events is stored."""

    async def load(self) -> str | None:
        """Return the position; None at the very first."""
        ...

    async def keep(self, position: str) -> None:
        """Store the position; it is as durable as it gets when this returns."""
        ...


class MemoryCursor:
    """For platforms that remember themselves what was confirmed."""

    def __init__(self) -> None:
        self._position: str | None = None

    async def load(self) -> str | None:
        """Return the position; None at the very first."""
        return self._position

    async def keep(self, position: str) -> None:
        """Remember the position in this process."""
        self._position = position


class KeptCursor:
    """In the state of the channel, under one key; it survives a restart."""

    def __init__(self, state: PlatformState, key: str = "cursor") -> None:
        self._state = state
        self._key = key

    async def load(self) -> str | None:
        """Return the position; None at the very first."""
        found = await self._state.get(self._key)
        return None if found is None else found.decode()

    async def keep(self, position: str) -> None:
        """Store the position; it is durable when this returns."""
        await self._state.put(self._key, position.encode())


Fetch = Callable[[str | None, float], Awaitable[PollPage[Event]]]


class LongPoll(Generic[Event]):
    """The polls of one account; `run` ends only by raising.

    `fetch` is called with the cursor and the seconds that a poll lasts. `take` returns once an event
    is kept or never will be; what it raises that is passing (`TryLater`, `StoreError`) has the event
    told again. `renew` returns the cursor to go on from after the platform has refused ours.
    """

    def __init__(
        self,
        fetch: Fetch[Event],
        take: Callable[[Event], Awaitable[object]],
        *,
        platform: str,
        poll_s: float,
        clock: Clock,
        cursor: PollCursor | None = None,
        renew: Callable[[], Awaitable[str | None]] | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._fetch = fetch
        self._take = take
        self._platform = platform
        self._poll_s = poll_s
        self._clock = clock
        self._cursor = cursor or MemoryCursor()
        self._renew = renew
        self._sleep = sleep
        # Batches in a row that the inbox has not taken completely.
        self._refusals = 0
        self._heard_at = clock.monotonic()

    def check_hears(self) -> None:
        """Raise if no poll was answered for longer than one lasts."""
        silent_s = self._clock.monotonic() - self._heard_at
        if silent_s > self._poll_s + _SILENCE_S:
            raise NotDelivered(
                f"{self._platform}: no poll has been answered for {silent_s:.0f} s; nothing is "
                "received",
                FailureClass.SERVICE_UNAVAILABLE,
            )

    async def run(self) -> None:
        """Poll until that is no longer possible; raise why."""
        position = await self._cursor.load()
        failures = 0
        while True:
            begun = self._clock.monotonic()
            try:
                batch = await self._fetch(position, self._poll_s)
                self._hear(batch)
                position = await self._process(batch, position)
            except (DeliveryError, BadRequest) as error:
                position = await self._failed(error, failures, position)
                failures += 1
                continue
            failures = 0
            if not batch.events and self._clock.monotonic() - begun < min(_AT_ONCE_S, self._poll_s):
                await self._sleep(_BREATH_S)

    def _hear(self, batch: PollPage[Event]) -> None:
        self._heard_at = self._clock.monotonic()
        if batch.poll_s is not None:
            self._poll_s = min(_LONGEST_POLL_S, max(1.0, batch.poll_s))

    async def _failed(
        self, error: DeliveryError | BadRequest, failures: int, position: str | None
    ) -> str | None:
        """Wait, and return the cursor to go on from; raise if the connection counts as lost."""
        is_revoked = isinstance(error, DeliveryError) and (
            error.failure is FailureClass.UNAUTHORIZED
        )
        if is_revoked or failures >= len(_WAITS_S):
            raise error
        _log.info(
            "channel.poll_failed",
            platform=self._platform,
            problem=str(error),
            failures=failures + 1,
        )
        if isinstance(error, DeliveryRejected) and self._renew is not None:
            return await self._renew()
        asked_s = error.retry_after if isinstance(error, DeliveryError) else None
        await self._sleep(max(_WAITS_S[failures], asked_s or 0.0))
        return position

    async def _process(self, batch: PollPage[Event], position: str | None) -> str | None:
        """Take a batch, its chats side by side and each in order; return the new cursor."""
        chats: dict[str, list[tuple[int, PolledEvent[Event]]]] = {}
        for number, polled in enumerate(batch.events):
            chats.setdefault(polled.chat, []).append((number, polled))
        stopped = await asyncio.gather(*(self._take_chat(chat) for chat in chats.values()))
        held = [stop for stop in stopped if stop is not None]
        if not held:
            self._refusals = 0
            return await self._move(batch.cursor, position)
        first = batch.events[min(number for number, _ in held)]
        position = await self._move(first.cursor, position)
        await self._sleep(max(pause_s(error, self._refusals) for _, error in held))
        self._refusals += 1
        return position

    async def _take_chat(
        self, chat: list[tuple[int, PolledEvent[Event]]]
    ) -> tuple[int, HermesError] | None:
        """Take a chat's events; return the number of the first that must come again, and why."""
        for number, polled in chat:
            try:
                await self._take(polled.event)
            except HermesError as error:
                if not is_passing(error):
                    raise
                return number, error
        return None

    async def _move(self, position: str | None, before: str | None) -> str | None:
        if position is None or position == before:
            return before
        await self._cursor.keep(position)
        return position
