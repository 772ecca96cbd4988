"""A bare HTTP/1.1 client for load: one keep-alive connection, one request at a time.

It reads only what Hermes sends (answers with a Content-Length), so that the load costs little.
"""

import asyncio

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class Connection(asyncio.Protocol):
    """One connection; `ask` writes a request and returns the status and the body."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._waiter: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # uvloop's transports share no base class with asyncio's.
        self._transport = transport  # type: ignore[assignment]

    def connection_lost(self, error: Exception | None) -> None:
        """Fail whoever waits for an answer."""
        self._transport = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(ConnectionError(f"the gateway closed: {error}"))

    def data_received(self, data: bytes) -> None:
        """Collect an answer."""
        self._received += data
        head, found, body = self._received.partition(_HEAD_END)
        if not found:
            return
        length = _content_length(head)
        if len(body) < length:
            return
        self._received = body[length:]
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result((int(head[9:12]), body[:length]))

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send one request and wait for its answer."""
        if self._transport is None:
            raise ConnectionError("the gateway has closed the connection")
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiter

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()


async def connect(host: str, port: int) -> Connection:
    """Open one connection."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(Connection, host, port)
    return connection


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(_LENGTH):
            return int(line[len(_LENGTH) :])
    raise ConnectionError(f"an answer without Content-Length: {head[:200]!r}")
