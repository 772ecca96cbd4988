"""A bare HTTP/1.1 client for load: one keep-alive connection, one request at a time.

It reads what Hermes and its peers send: answers with a Content-Length, and answers in chunks, to
their end. It checks the frame of an answer and nothing else, so that the load costs little.
"""

import asyncio

_HEAD_END = b"\r\n\r\n"
_LINE_END = b"\r\n"
_LAST_CHUNK = b"0\r\n\r\n"
_LENGTH = b"content-length:"
_CHUNKED = b"transfer-encoding: chunked"


class Connection(asyncio.Protocol):
    """One connection; `ask` writes a request and returns the status and the body."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._status = 0
        self._body_at = 0
        self._length: int | None = None
        self._waiter: asyncio.Future[tuple[int, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # uvloop's transports share no base class with asyncio's.
        self._transport = transport  # type: ignore[assignment]

    def connection_lost(self, error: Exception | None) -> None:
        """Fail whoever waits for an answer."""
        self._transport = None
        self._fail(ConnectionError(f"the server closed the connection: {error}"))

    def data_received(self, data: bytes) -> None:
        """Collect an answer."""
        self._received += data
        try:
            body = self._body() if self._body_at or self._read_head() else None
        except ValueError as problem:
            self._fail(ConnectionError(f"an answer that is no HTTP: {problem}"))
            return
        if body is not None and self._waiter is not None and not self._waiter.done():
            self._waiter.set_result((self._status, body))

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send one request and wait for its whole answer."""
        if self._transport is None:
            raise ConnectionError("the server has closed the connection")
        self._received.clear()
        self._body_at = 0
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiter

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()

    def _fail(self, error: ConnectionError) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)

    def _read_head(self) -> bool:
        """Tell whether the head is there, and keep what it says."""
        end = self._received.find(_HEAD_END)
        if end < 0:
            return False
        head = bytes(self._received[:end])
        self._status = int(head[9:12])
        self._length = _content_length(head)
        self._body_at = end + len(_HEAD_END)
        return True

    def _body(self) -> bytes | None:
        """Return the body when all of it is there."""
        if self._length is None:
            return _from_chunks(self._received, self._body_at)
        end = self._body_at + self._length
        return bytes(self._received[self._body_at : end]) if len(self._received) >= end else None


async def connect(host: str, port: int) -> Connection:
    """Open one connection."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(Connection, host, port)
    return connection


def _content_length(head: bytes) -> int | None:
    """Return the length that a head tells, or None for a body in chunks."""
    lines = head.lower().split(_LINE_END)
    if _CHUNKED in lines:
        return None
    for line in lines:
        if line.startswith(_LENGTH):
            return int(line[len(_LENGTH) :])
    raise ValueError(f"neither Content-Length nor chunks: {head[:200]!r}")


def _from_chunks(received: bytearray, start: int) -> bytes | None:
    """Return the body that the chunks make, or None while the last one is missing."""
    if not received.endswith(_LAST_CHUNK):
        return None
    pieces: list[bytearray] = []
    at = start
    while at < len(received):
        line_end = received.find(_LINE_END, at)
        if line_end < 0:
            break
        size = int(received[at:line_end], 16)
        if size == 0:
            return b"".join(pieces)
        at = line_end + len(_LINE_END)
        pieces.append(received[at : at + size])
        at += size + len(_LINE_END)
    return None
