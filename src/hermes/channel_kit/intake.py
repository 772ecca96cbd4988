"""Hands messages to the inbox; one rule for every channel while the inbox cannot take them.

The rule: what is refused for good is passed over, and so is a sender with too many messages waiting.
Anything else is handed in again until it is kept. Nothing that came later in the same chat overtakes
it, and nothing is given up. A platform that sends a message again until it is acknowledged is told to
(`repeats`); for any other the message waits here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakValueDictionary

import structlog

from hermes.errors import (
    HermesError,
    RateLimited,
    Refused,
    StoreError,
    StoreRejected,
    TryLater,
)
from hermes.message.event import MessageEvent
from hermes.ports.channel import Accept, Acceptance

_SHORTEST_S: Final = 0.1
_LONGEST_S: Final = 30.0
_FIRST_S: Final = 1.0
# From here on the pause does not grow any more.
_MOST_DOUBLINGS: Final = 5
# Chats of which it is remembered why they wait; a chat that never writes again is forgotten.
_MOST_HELD: Final = 1000

Sleep = Callable[[float], Awaitable[None]]
_log = structlog.get_logger(__name__)


def is_passing(error: HermesError) -> bool:
    """Return True if the inbox may take the same message later.

    A sender with too many messages waiting is passed over: waiting would hold back everybody else.
    """
    if isinstance(error, StoreError):
        return not isinstance(error, StoreRejected)
    return isinstance(error, TryLater) and not isinstance(error, RateLimited)


def pause_s(error: HermesError, failures: int) -> float:
    """Return how long to wait after an error that is passing and that `failures` others preceded.

    The inbox says how long it is full; a database that fails is asked less and less often.
    """
    if isinstance(error, TryLater):
        return min(_LONGEST_S, max(_SHORTEST_S, error.retry_after))
    return min(_LONGEST_S, _FIRST_S * (1 << min(failures, _MOST_DOUBLINGS)))


def patient(accept: Accept, *, sleep: Sleep, on_wait: Callable[[HermesError], None]) -> Accept:
    """Return an `accept` that waits while the inbox cannot take a message, however long that is.

    It raises only what waiting would not help: `Refused`, `RateLimited`, `StoreRejected`.
    """

    async def keep(event: MessageEvent) -> Acceptance:
        failures = 0
        while True:
            try:
                return await accept(event)
            except HermesError as error:
                if not is_passing(error):
                    raise
                on_wait(error)
                seconds = pause_s(error, failures)
                failures += isinstance(error, StoreError)
            await sleep(seconds)

    return keep


class Intake:
    """Hands the messages of one channel to the inbox, each chat in order.

    `repeats` says that the platform sends what was not acknowledged again.
    """

    def __init__(
        self,
        accept: Accept,
        *,
        platform: str,
        repeats: bool,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._accept = accept
        self._platform = platform
        self._repeats = repeats
        self._sleep = sleep
        self._chats: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # Why the next message of a chat is not kept yet.
        self._held: dict[str, str] = {}

    @property
    def held(self) -> str | None:
        """Why a message is not kept yet; None if none waits."""
        return next(iter(self._held.values()), None)

    @property
    def chats(self) -> int:
        """In how many chats a message is being handed in."""
        return len(self._chats)

    async def take(self, event: MessageEvent) -> Acceptance | None:
        """Return once the message can be acknowledged: kept, or None if it never will be.

        If the platform repeats, it raises what is passing: the message must not be acknowledged.
        """
        async with self.turn(event.source.chat_id):
            return await self.take_now(event)

    def turn(self, chat_id: str) -> asyncio.Lock:
        """Return the lock of a chat: who holds it while reading an event keeps the chat's order."""
        return self._chats.setdefault(chat_id, asyncio.Lock())

    async def take_now(self, event: MessageEvent) -> Acceptance | None:
        """Do what `take` does for a caller who holds the turn of the chat or takes one by one."""
        chat_id = event.source.chat_id
        keep = self._accept
        if not self._repeats:
            keep = patient(
                keep, sleep=self._sleep, on_wait=lambda error: self._waits(chat_id, error)
            )
        try:
            kept = await keep(event)
        except (Refused, RateLimited, StoreRejected) as error:
            self._pass_over(event, error)
            kept = None
        except HermesError as error:
            # It comes again, and then the reason is gone or another one.
            self._waits(chat_id, error)
            raise
        self._held.pop(chat_id, None)
        return kept

    def _waits(self, chat_id: str, error: HermesError) -> None:
        """Remember and log why a message is not kept yet; the same reason only once."""
        problem = str(error)
        if self._held.get(chat_id) != problem:
            tell = _log.info if isinstance(error, TryLater) else _log.error
            tell("channel.not_now", platform=self._platform, code=error.code, problem=problem[:200])
        self._held[chat_id] = problem
        if len(self._held) > _MOST_HELD:
            del self._held[next(iter(self._held))]

    def _pass_over(self, event: MessageEvent, error: HermesError) -> None:
        about = {"platform": self._platform, "id": event.external_id, "code": error.code}
        if isinstance(error, StoreRejected):
            _log.error("channel.message_lost", **about, problem=str(error)[:200])
        elif isinstance(error, RateLimited):
            # Waiting for this sender would delay everyone after them.
            _log.warning("channel.passed_over", **about)
        else:
            # It would be refused the next time, too.
            _log.info("channel.refused", **about, problem=str(error)[:200])
