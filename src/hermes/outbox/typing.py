"""Shows that an answer is being worked on, for as long as a turn runs; it never fails one."""

import asyncio
from types import TracebackType
from typing import Self

import structlog

from hermes.errors import DeliveryError, DeliveryRejected
from hermes.outbox.alarm import Sleep
from hermes.outbox.channel_calls import ChannelCalls
from hermes.outbox.rates import RateGate
from hermes.ports.channel import Target

log = structlog.get_logger(__name__)

# Platforms show it for five seconds or more; an answer that comes at once needs none.
EVERY_S = 4.5
FIRST_S = 0.7


class Typing:
    """An indicator that is repeated until the end of its block; fits `ports.upward.Working`."""

    def __init__(
        self, wire: ChannelCalls, target: Target, *, rates: RateGate, sleep: Sleep
    ) -> None:
        self._wire = wire
        self._target = target
        self._rates = rates
        self._sleep = sleep
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._repeat(), name="typing")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _repeat(self) -> None:
        await self._sleep(FIRST_S)
        while True:
            if not self._rates.is_held(self._target):
                try:
                    await self._wire.typing(self._target)
                except DeliveryRejected as error:
                    log.info("typing.given_up", failure=error.failure)
                    return
                except DeliveryError as error:
                    self._rates.failed(self._target, error)
            await self._sleep(EVERY_S)


class NotTyping:
    """What shows nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


NOT_TYPING = NotTyping()
