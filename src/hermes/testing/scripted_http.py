"""A loopback HTTP server for stand-in model services: it reads requests and plays scripted turns.

It knows no dialect: a stand-in gives it a function that reads a `ReceivedRequest` and writes
through an `Out`. Every request is kept for tests.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, cast

import httptools
import msgspec

from hermes.testing.model_script import ScriptedTurn

Sleep = Callable[[float], Awaitable[None]]

_MAX_BODY = 33_554_432
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}


class ReceivedRequest(msgspec.Struct, frozen=True):
    """One request as received; `headers` have lower-case names."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

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
            f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}\r\nContent-Type: {kind}\r\n"
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


class _Connection(asyncio.Protocol):
    """One client; each request is answered in its own task."""

    def __init__(self, server: ScriptedHttp) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._out = Out()
        self._task: asyncio.Task[None] | None = None
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # cast: a stream server always passes a stream transport; uvloop's has no common base.
        self._out.attach(cast("asyncio.Transport", transport))
        self._server.connections.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self._server.connections.discard(self)
        self._out.attach(None)
        if self._task is not None and not self._task.done():
            self._task.cancel()
            self._server.disconnected.set()

    def drop(self) -> asyncio.Task[None] | None:
        self._out.abort()
        return self._task

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._out.whole(400, b"")
            self._out.cut()

    def on_message_begin(self) -> None:
        self._url, self._headers, self._body = b"", {}, b""

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self._body += body[: _MAX_BODY - len(self._body)]

    def on_message_complete(self) -> None:
        received = ReceivedRequest(
            self._parser.get_method().decode(), self._url.decode(), self._headers, self._body
        )
        self._server.requests.append(received)
        handling = self._server.handle(received, self._out)
        self._task = asyncio.ensure_future(handling)


async def play(
    out: Out,
    turn: ScriptedTurn,
    *,
    kind: str,
    sleep: Sleep,
    opening: Iterable[bytes],
    pieces: Iterable[bytes],
    closing: Iterable[bytes],
) -> None:
    """Stream one scripted turn with its waits and its fault; `pieces` has one entry for
    each delta.
    """
    out.begin(kind)
    for frame in opening:
        out.frame(frame)
    told = list(pieces) if turn.fault is None else list(pieces)[: turn.after]
    for frame in told:
        out.frame(frame)
        if turn.gap_s:
            await sleep(turn.gap_s)
    if turn.fault == "hang":
        await asyncio.Event().wait()
    if turn.fault == "cut":
        out.cut()
        return
    if turn.fault is None:
        for frame in closing:
            out.frame(frame)
    out.end()
