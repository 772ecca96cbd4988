"""The messages of a server on their way to the SDK's session: paced and filtered."""

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
# The notifications that are used; a server's logs and single resources are ignored, because each
# notification that is passed on costs a task.
_FOLLOWED = frozenset(
    {
        "notifications/cancelled",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
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
        """Send one message."""
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
    """A stream that is read no faster than its server may send.

    It reports when the server has ended it, and when it was closed on our side.
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
        """The context of the last message, which links a question to its call."""
        found: contextvars.Context | None = getattr(self._inner, "last_context", None)
        return found

    async def receive(self) -> Incoming:
        """Return the next message that is used."""
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
            # The reader is cancelled only if the transport below has failed, or to end everything.
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
    # A line that is not a message is not counted here: the transport handles it.
    if isinstance(item, Exception):
        return True
    message = item.message
    return isinstance(message, JSONRPCNotification) and message.method not in _FOLLOWED
