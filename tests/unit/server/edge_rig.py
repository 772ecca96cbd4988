"""A small app behind the edge of the HTTP server, and raw connections to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Receive, Scope, Send

from hermes.http.body import HAS_BODY
from hermes.http.sse import ON_LOST
from hermes.server.edge import EdgeLimits
from hermes.server.listen import HttpServer, ServeSettings, bind

QUICK = EdgeLimits(head_s=0.5, send_s=0.5)
CALM = EdgeLimits(head_s=60, send_s=60)
GET = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
LARGE = b"x" * 20_000_000


class App:
    """Answers by path; notes what it was sent and who left."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []
        self.asked: list[tuple[str, bytes]] = []
        self.entered = asyncio.Event()
        self.leave = asyncio.Event()
        self.has_lost = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.headers = scope["headers"]
        self.entered.set()
        answer = b"ok"
        if scope["path"] == "/held":
            await self.leave.wait()
        elif scope["path"] == "/stream":
            await self.stream(receive, send)
            return
        elif scope["path"] == "/lost":
            await self.leave.wait()
            scope[ON_LOST](self.has_lost.set)
        elif scope["path"] == "/arrived":
            answer = b"whole" if scope[HAS_BODY]() else b"part"
        elif scope["path"] == "/large":
            answer = LARGE
        self.asked.append((scope["path"], await self.body(scope, receive)))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": answer})

    async def body(self, scope: Scope, receive: Receive) -> bytes:
        body, more = b"", scope["method"] == "POST"
        while more:
            event = await receive()
            body += event.get("body", b"")
            more = event.get("more_body", False)
        return body

    async def stream(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

        async def write() -> None:
            while True:
                await send({"type": "http.response.body", "body": b".", "more_body": True})
                await asyncio.sleep(0.01)

        writing = asyncio.create_task(write())
        while (await receive())["type"] != "http.disconnect":
            pass
        writing.cancel()
        self.has_lost.set()


class Peer:
    """One raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def rest(self) -> bytes:
        """Return what comes until the server closes."""
        async with asyncio.timeout(30):
            return await self.reader.read()

    async def answer(self) -> bytes:
        """Return one whole answer of the app."""
        async with asyncio.timeout(30):
            return await self.reader.readuntil(b"0\r\n\r\n")


class Served:
    def __init__(self, app: App, address: tuple[str, int]) -> None:
        self.app = app
        self._address = address
        self._peers: list[Peer] = []

    async def connect(self) -> Peer:
        peer = Peer(*await asyncio.open_connection(*self._address))
        self._peers.append(peer)
        return peer

    def close(self) -> None:
        for peer in self._peers:
            peer.writer.close()


@asynccontextmanager
async def serving(
    limits: EdgeLimits, *, connections: int = 100, keep_alive_s: float = 1
) -> AsyncIterator[Served]:
    listener = bind("127.0.0.1", 0)
    served = Served(App(), listener.getsockname()[:2])
    settings = ServeSettings(
        keep_alive_s=keep_alive_s, stop_s=1, connections=connections, limits=limits
    )
    server = HttpServer(served.app, listener, settings=settings)
    running = asyncio.create_task(server.serve())
    await server.wait_started()
    try:
        yield served
    finally:
        served.close()
        server.stop()
        await running


def statuses(answers: bytes) -> list[bytes]:
    """Return the status of every answer."""
    return [line.split(b" ")[1] for line in answers.split(b"\r\n") if line.startswith(b"HTTP")]
