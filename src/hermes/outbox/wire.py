"""The outbox's only way to a channel: each call bounded in time and passed by a failpoint.

Whatever a channel raises leaves here as a `DeliveryError`; what a call did that ended in any
other way nobody knows.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

import structlog

from hermes import failpoints
from hermes.errors import DeliveryError, DeliveryUnknown, FailureClass
from hermes.ports.channel import Capabilities, Delivery, PushChannel, Receipt, Target

log = structlog.get_logger(__name__)

# A channel's own time-out, which knows more, should come first.
_GRACE_S = 5.0

Answer = TypeVar("Answer")


class Wire:
    """The calls of one push channel."""

    def __init__(self, channel: PushChannel, *, timeout_s: float) -> None:
        self._channel = channel
        self._limit_s = timeout_s + _GRACE_S

    @property
    def platform(self) -> str:
        """The platform's name."""
        return self._channel.name

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        return self._channel.capabilities

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message."""
        async with failpoints.outside("channel.send"):
            return await self._bounded(self._channel.send(delivery), "send")

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message."""
        async with failpoints.outside("channel.edit"):
            await self._bounded(self._channel.edit(target, platform_message_id, text=text), "edit")

    async def find(self, target: Target, key: str) -> Receipt | None:
        """Look a message up in the platform's history."""
        async with failpoints.outside("channel.find"):
            return await self._bounded(self._channel.find(target, key), "find")

    async def _bounded(self, call: Awaitable[Answer], verb: str) -> Answer:
        try:
            async with asyncio.timeout(self._limit_s):
                return await call
        except DeliveryError:
            raise
        except TimeoutError as error:
            raise DeliveryUnknown(
                f"{self.platform}: {verb} gave no answer within {self._limit_s:g} s; "
                "the delivery is settled by the platform's policy",
                FailureClass.NETWORK_TIMEOUT,
            ) from error
        # Boundary: a fault inside a channel must not leave its row on the wire for ever.
        except Exception as error:
            log.exception("outbox.channel_fault", platform=self.platform, verb=verb)
            raise DeliveryUnknown(
                f"{self.platform}: {verb} failed inside the channel, expected a DeliveryError, "
                f"found {type(error).__name__}; fix the channel's error mapping",
                FailureClass.SERVICE_UNAVAILABLE,
            ) from error
