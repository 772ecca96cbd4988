"""Passes received messages to the inbox, in order, beside the connection.

IRC repeats nothing: a message that the inbox cannot store now waits here and is retried for as long
as it takes, also across a new connection. While too many wait, nothing more is read: the server
buffers it for a while, and then closes the connection.
"""

import asyncio
from collections import deque
from typing import Final

import msgspec
import structlog

from hermes.channel_kit.intake import patient
from hermes.contrib.irc.line_rate import Sleep
from hermes.errors import HermesError, RateLimited, Refused, TryLater
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.ports.channel import Accept
from hermes.ports.clock import Clock

MOST_WAITING: Final = 1000
# Pasted text beyond this is another message.
_MOST_LINES: Final = 200
_MOST_CHARS: Final = 32_000
_log = structlog.get_logger(__name__)


class _Pasted:
    """The lines that one person has written in one chat so far."""

    def __init__(self, event: MessageEvent, now: float) -> None:
        self.event = event
        self.heard_at = now
        self.lines = 1
        self.last_at = event.at
        self.closing: asyncio.Task[None] | None = None

    def takes(self, event: MessageEvent, *, within_s: float) -> bool:
        """Return whether a line continues what was written before."""
        is_near = abs(event.at - self.last_at) <= within_s
        fits = self.lines < _MOST_LINES and len(self.event.text) + len(event.text) < _MOST_CHARS
        return is_near and fits and event.type == "text"

    def add(self, event: MessageEvent, now: float) -> None:
        """Append a line; if one line mentions the bot, all are addressed to it."""
        self.lines += 1
        self.heard_at = now
        self.last_at = event.at
        self.event = msgspec.structs.replace(
            self.event,
            parts=(TextPart(f"{self.event.text}\n{event.text}"),),
            addressed=self.event.addressed or event.addressed,
        )


class IrcIntake:
    """Messages that were received and are not stored yet.

    Lines that one person sends in quick succession are one message: IRC has no other way to write
    several lines. The first line gives the message its name.
    """

    def __init__(
        self, clock: Clock, *, sleep: Sleep = asyncio.sleep, gather_s: float = 0.0
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._gather_s = gather_s
        self._heard: deque[MessageEvent] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._pasted: dict[tuple[str, str | None], _Pasted] = {}
        self._drained = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many messages are not stored yet."""
        return len(self._heard) + len(self._pasted)

    async def put(self, event: MessageEvent) -> None:
        """Take a message; wait while there is no room, so that nothing more is read."""
        while self.waiting >= MOST_WAITING:
            self._room.clear()
            await self._room.wait()
        who = (event.source.chat_id, event.source.user_id)
        begun = self._pasted.get(who)
        if begun is not None:
            if begun.takes(event, within_s=self._gather_s):
                begun.add(event, self._clock.monotonic())
                return
            self._close(who, begun)
        if not self._gather_s or event.type != "text":
            self._append(event)
            return
        pasted = self._pasted[who] = _Pasted(event, self._clock.monotonic())
        pasted.closing = asyncio.create_task(self._close_later(who, pasted), name="irc lines")

    def close_all(self) -> None:
        """Wait for no more lines: what was written so far is a message."""
        for who, pasted in tuple(self._pasted.items()):
            self._close(who, pasted)

    async def drain(self) -> None:
        """Return once nothing is waiting."""
        self._drained.clear()
        if self.waiting:
            await self._drained.wait()

    async def _close_later(self, who: tuple[str, str | None], pasted: _Pasted) -> None:
        while (rest_s := pasted.heard_at + self._gather_s - self._clock.monotonic()) > 0:
            await self._sleep(rest_s)
        pasted.closing = None
        self._close(who, pasted)

    def _close(self, who: tuple[str, str | None], pasted: _Pasted) -> None:
        if self._pasted.get(who) is not pasted:
            return
        del self._pasted[who]
        if pasted.closing is not None:
            pasted.closing.cancel()
        self._append(pasted.event)

    def _append(self, event: MessageEvent) -> None:
        self._heard.append(event)
        self._news.set()

    async def run(self, accept: Accept) -> None:
        """Pass messages on until cancelled."""
        keep = patient(accept, sleep=self._sleep, on_wait=_log_wait)
        while True:
            while not self._heard:
                self._news.clear()
                await self._news.wait()
            # It stays here until it is stored: a cancellation loses nothing.
            await _hand_in(self._heard[0], keep)
            self._heard.popleft()
            self._room.set()
            if not self.waiting:
                self._drained.set()


async def _hand_in(event: MessageEvent, keep: Accept) -> None:
    try:
        await keep(event)
    except Refused as error:
        _log.warning("irc.refused", code=error.code, problem=str(error)[:200])
    except RateLimited as error:
        # Waiting for this sender would delay everyone after them.
        _log.warning("irc.passed_over", code=error.code, problem=str(error)[:200])
    except HermesError as error:
        _log.error("irc.message_lost", external_id=event.external_id, problem=str(error)[:200])


def _log_wait(error: HermesError) -> None:
    if isinstance(error, TryLater):
        _log.info("irc.not_now", code=error.code)
    else:
        _log.error("irc.not_kept", code=error.code, problem=str(error)[:200])
