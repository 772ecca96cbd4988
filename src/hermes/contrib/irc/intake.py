"""Hands what was heard to the inbox, in order, beside the connection.

IRC repeats nothing: what the inbox cannot keep now waits here and is handed in again, also over a
new connection. While too much waits nothing more is read, and the server keeps it for a moment.
"""

import asyncio
from typing import Final

import structlog

from hermes.contrib.irc.pacing import Sleep
from hermes.errors import HermesError, Refused, TryLater
from hermes.message.event import MessageEvent
from hermes.ports.channel import Accept

_MOST: Final = 1000
_LONGEST_S: Final = 30.0
_MOST_FAILURES: Final = 5
_log = structlog.get_logger(__name__)


class Intake:
    """What was heard and is not kept yet."""

    def __init__(self, *, sleep: Sleep = asyncio.sleep) -> None:
        self._sleep = sleep
        self._heard: asyncio.Queue[MessageEvent] = asyncio.Queue(_MOST)
        self._held: MessageEvent | None = None

    @property
    def waiting(self) -> int:
        """How many messages are not kept yet."""
        return self._heard.qsize() + (self._held is not None)

    async def put(self, event: MessageEvent) -> None:
        """Take a message; waits while there is no room."""
        await self._heard.put(event)

    async def run(self, accept: Accept) -> None:
        """Hand messages in, for as long as it is let."""
        while True:
            if self._held is None:
                self._held = await self._heard.get()
            await self._keep(self._held, accept)
            self._held = None

    async def _keep(self, event: MessageEvent, accept: Accept) -> None:
        failures = 0
        while failures < _MOST_FAILURES:
            try:
                await accept(event)
            except Refused as error:
                _log.warning("irc.refused", code=error.code, problem=str(error)[:200])
            except TryLater as error:
                _log.info("irc.not_now", code=error.code)
                await self._sleep(min(_LONGEST_S, max(0.1, error.retry_after)))
                continue
            except HermesError as error:
                failures += 1
                _log.error("irc.not_kept", code=error.code, problem=str(error)[:200])
                await self._sleep(1.0)
                continue
            return
        _log.error("irc.message_lost", external_id=event.external_id, tries=failures)
