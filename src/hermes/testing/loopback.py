"""How stand-ins listen on loopback, refuse connections for a while and drop open ones; HTTP and
line protocols.
"""

import asyncio
from abc import ABC, abstractmethod
from typing import Any, Final

from aiohttp import web

from hermes.testing.stand_in import Fault

_HOST: Final = "127.0.0.1"
_GRACE_S: Final = 0.2


class HttpLoopback:
    """An HTTP server on its own port, which it keeps while it refuses connections."""

    def __init__(self) -> None:
        self.port = 0
        self.is_listening = False
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self._reopening: asyncio.Task[None] | None = None

    async def start(self, app: web.Application, *, port: int = 0) -> None:
        """Listen on a port; 0 takes a free one."""
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_GRACE_S)
        await self._runner.setup()
        await self._listen(port)
        self.port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Close every connection."""
        if self._reopening is not None:
            await asyncio.gather(self._reopening, return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def refuse(self, seconds: float) -> None:
        """Refuse connections for a while."""
        self._reopening = asyncio.create_task(self._refuse(seconds))

    async def cut(self) -> None:
        """Drop every open connection."""
        server = None if self._runner is None else self._runner.server
        for connection in () if server is None else tuple(server.connections):
            if connection.transport is not None:
                connection.transport.abort()

    async def _refuse(self, seconds: float) -> None:
        if self._site is None:
            return
        await self._site.stop()
        await self.cut()
        self.is_listening = False
        await asyncio.sleep(seconds)
        await self._listen(self.port)

    async def _listen(self, port: int) -> None:
        assert self._runner is not None
        self._site = web.TCPSite(self._runner, _HOST, port, reuse_address=True)
        await self._site.start()
        self.is_listening = True


class LineLoopback(ABC):
    """A server with long connections, each served by `talk`."""

    # The maximum length of a line.
    limit = 1 << 16

    def __init__(self) -> None:
        self.port = 0
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._sessions: set[asyncio.Future[object]] = set()

    @abstractmethod
    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""

    async def start(self) -> None:
        """Listen on a port that stays the same."""
        self._server = await asyncio.start_server(self._serve, _HOST, self.port, limit=self.limit)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close every connection."""
        if self._server is not None:
            self._server.close()
        self.cut()
        if self._sessions:
            # Their connections are closed: each task ends by itself.
            await asyncio.wait(self._sessions, timeout=2)

    def cut(self) -> None:
        """Drop every connection, like a network failure."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        here: Any = asyncio.current_task()  # Any: a task may be None, but not here
        self._sessions.add(here)
        here.add_done_callback(self._sessions.discard)
        try:
            await self.talk(reader, writer)
        finally:
            self._writers.discard(writer)
            writer.close()


async def lose(request: web.Request, fault: Fault, released: asyncio.Event) -> None:
    """Drop the answer of a call; one that hangs is dropped when released."""
    if fault.kind in ("hang", "hang_before"):
        await released.wait()
    if request.transport is not None:
        request.transport.abort()
    raise asyncio.CancelledError
