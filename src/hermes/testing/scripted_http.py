"""A loopback HTTP server for stand-in model services: it reads requests and plays scripted turns.

It knows no dialect: a stand-in gives it a function that reads a `ReceivedRequest` and writes
through an `Out`. Every request is kept for tests.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from http.client import responses
from typing import Any, cast

import httptools
import msgspec

Sleep = Callable[[float], Awaitable[None]]

MAX_BODY = 33_554_432


class ReceivedRequest(msgspec.Struct, frozen=True):
    """One request as received; `headers` have lower-case names."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def is_too_long(self) -> bool:
        """Whether the body, which was cut, had more bytes than a service takes."""
        return len(self.body) > MAX_BODY

    # Any: JSON of the caller's.
    def json(self) -> Any:
        """Return the body as parsed JSON."""
        return msgspec.json.decode(self.body)


class Out:
    """Where an answer is written; writes after the caller has left are dropped."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None

    def attach(self, transport: asyncio.Transport | None) -> None:
        self._transport = transport

    def whole(
        self, status: int, body: bytes, *, kind: str = "application/json", **headers: str
    ) -> None:
        """Answer with a complete body."""
        extra = "".join(f"{key.replace('_', '-')}: {value}\r\n" for key, value in headers.items())
        head = (
            f"HTTP/1.1 {status} {responses.get(status, 'Status')}\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body)}\r\n{extra}\r\n"
        )
        self.raw(head.encode() + body)

    def begin(self, kind: str) -> None:
        """Begin a streamed answer."""
        self.raw(
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )

    def frame(self, data: bytes) -> None:
        """Stream one piece."""
        self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self) -> None:
        """End the stream as HTTP ends it."""
        self.raw(b"0\r\n\r\n")

    def cut(self) -> None:
        """Close without the end of the body, after everything written was sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Drop the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def reset(self) -> None:
        """Drop the connection at once, so that the caller sees a reset instead of a close."""
        if self._transport is not None:
            plug = self._transport.get_extra_info("socket")
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()

    def raw(self, data: bytes) -> None:
        """Write bytes as they are."""
        if self._transport is not None:
            self._transport.write(data)


Handler = Callable[[ReceivedRequest, Out], Awaitable[None]]


class ScriptedHttp:
    """The server; used in a test as `async with ScriptedHttp(handle) as server`."""

    def __init__(self, handle: Handler) -> None:
        self.handle = handle
        self._server: asyncio.Server | None = None
        self.connections: set[_Connection] = set()
        self.requests: list[ReceivedRequest] = []
        self.disconnected = asyncio.Event()
        self.port = 0

    @property
    def origin(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> "ScriptedHttp":
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def stop_listening(self) -> None:
        """Refuse every new connection from now on."""
        if self._server is not None:
            self._server.close()

    async def __aexit__(self, *_error: object) -> None:
        self.stop_listening()
        tasks = [connection.drop() for connection in tuple(self.connections)]
        await asyncio.gather(*(task for task in tasks if task), return_exceptions=True)


class HttpConnection(asyncio.Protocol):
    """One client, whose requests are read; what is written after it has left is dropped."""

    def __init__(self, connections: "set[Any]") -> None:  # Any: of the kind that is made
        self._connections = connections
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self.out = Out()

    def received(self, request: ReceivedRequest) -> None:
        """Answer a request."""
        raise NotImplementedError

    def garbled(self) -> None:
        """Answer what is no request."""
        self.out.whole(400, b"")
        self.out.cut()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # cast: a stream server always passes a stream transport; uvloop's has no common base.
        self.out.attach(cast("asyncio.Transport", transport))
        self._connections.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self._connections.discard(self)
        self.out.attach(None)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.garbled()

    def on_message_begin(self) -> None:
        self._url, self._headers = b"", {}
        self._body.clear()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode().lower()] = value.decode(errors="replace")

    def on_body(self, body: bytes) -> None:
        if len(self._body) <= MAX_BODY:
            self._body += body

    def on_message_complete(self) -> None:
        method, path = self._parser.get_method().decode(), self._url.decode(errors="replace")
        self.received(ReceivedRequest(method, path, self._headers, bytes(self._body)))


class _Connection(HttpConnection):
    """One client; each request is answered in its own task."""

    def __init__(self, server: "ScriptedHttp") -> None:
        super().__init__(server.connections)
        self._server = server
        self._task: asyncio.Task[None] | None = None

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        if self._task is not None and not self._task.done():
            self._task.cancel()
            self._server.disconnected.set()

    def drop(self) -> asyncio.Task[None] | None:
        self.out.abort()
        return self._task

    def received(self, request: ReceivedRequest) -> None:
        self._server.requests.append(request)
        self._task = asyncio.ensure_future(self._server.handle(request, self.out))
