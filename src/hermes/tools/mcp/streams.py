"""The messages of a server on their way to the SDK's session: paced, and without idle talk."""

import asyncio
import contextvars
from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification

from hermes.tools.mcp.traffic_limit import TrafficLimit

Incoming = SessionMessage | Exception
# What is followed; logs, resources and prompts of a server are nobody's business here, and each
# notification that is passed on costs a task.
_FOLLOWED = frozenset(
    {
        "notifications/cancelled",
        "notifications/progress",
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    }
)


class Readable(Protocol):
    """Where messages come from."""

    async def receive(self) -> Incoming:
        """Return the next message; raises `anyio.EndOfStream` after the last."""
        ...

    async def aclose(self) -> None:
        """Stop reading."""
        ...


class Writable(Protocol):
    """Where messages go to."""

    async def send(self, item: SessionMessage, /) -> None:
        """Hand over one message."""
        ...

    async def aclose(self) -> None:
        """Stop writing."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None: ...


Streams = tuple[Readable, Writable]


class PacedStream:
    """A stream that is read no faster than its server may talk.

    It tells when the server has ended it, and when it was closed on our side.
    """

    def __init__(
        self,
        inner: Readable,
        pace: TrafficLimit,
        *,
        ended: Callable[[], None],
        closed: Callable[[], object],
    ) -> None:
        self._inner = inner
        self._pace = pace
        self._ended = ended
        self._closed = closed

    @property
    def last_context(self) -> contextvars.Context | None:
        """The context that the last message belongs to; by it a question finds its call."""
        found: contextvars.Context | None = getattr(self._inner, "last_context", None)
        return found

    async def receive(self) -> Incoming:
        """Return the next message that is followed."""
        try:
            while True:
                item = await self._inner.receive()
                await self._pace.spend(1)
                if not _is_idle(item):
                    return item
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended()
            raise
        except asyncio.CancelledError:
            # Who reads is cancelled only when the transport below has failed, or to end it all.
            self._closed()
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Incoming:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Stop reading."""
        self._closed()
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _is_idle(item: Incoming) -> bool:
    # A line that is no message says nothing either: its sender is judged where it is read.
    if isinstance(item, Exception):
        return True
    message = item.message
    return isinstance(message, JSONRPCNotification) and message.method not in _FOLLOWED
