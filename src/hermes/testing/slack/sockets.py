"""The stand-in's Socket Mode: each envelope goes to one connection, and is repeated until
acknowledged.
"""

import asyncio
from typing import Any

import msgspec
from aiohttp import WSMsgType, web

from hermes.testing.slack.state import APP
from hermes.testing.stand_in import no_rejections

Json = dict[str, Any]
_MAX_WAIT_S = 60.0


class Connection:
    """One connection of the app."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.is_leaving = False
        self.gone = asyncio.Event()


class Sockets:
    """The open connections, and the unacknowledged envelopes."""

    def __init__(self, *, resend_s: float = 3.0) -> None:
        self._resend_s = resend_s
        self._sends: set[asyncio.Future[None]] = set()
        self._connections: list[Connection] = []
        self._changed = asyncio.Condition()
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._made = 0
        self.opened = 0
        # How often each envelope was sent.
        self.sent: dict[str, int] = {}
        self.rejections = no_rejections()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Serve one connection until it ends."""
        socket = web.WebSocketResponse(heartbeat=10.0)
        await socket.prepare(request)
        connection = Connection(socket)
        self.opened += 1
        hello = {
            "type": "hello",
            "num_connections": len(self._connections) + 1,
            "connection_info": {"app_id": APP},
            "debug_info": {"host": "applink-1", "approximate_connection_time": 18060},
        }
        await socket.send_json(hello)
        await self._change(connection, joins=True)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._acknowledged(message.data)
        finally:
            connection.gone.set()
            await self._change(connection, joins=False)
        return socket

    async def deliver(self, kind: str, payload: Json) -> None:
        """Send an envelope; return once it was acknowledged."""
        self._made += 1
        name = f"envelope-{self._made}"
        waiting = self._waiting[name] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(_MAX_WAIT_S):
                attempt = 0
                while not waiting.done():
                    await self._try(name, kind, payload=payload, attempt=attempt)
                    attempt += 1
        finally:
            del self._waiting[name]

    async def _try(self, name: str, kind: str, *, payload: Json, attempt: int) -> None:
        connection = await self._free()
        envelope: Json = {
            "envelope_id": name,
            "type": kind,
            "payload": payload,
            "accepts_response_payload": kind != "events_api",
        }
        if kind == "events_api":
            reason = "timeout" if attempt else ""
            envelope |= {"retry_attempt": attempt, "retry_reason": reason}
        self.sent[name] = self.sent.get(name, 0) + 1
        try:
            await connection.socket.send_json(envelope)
        except (ConnectionError, RuntimeError):
            connection.is_leaving = True
            return
        gone = asyncio.create_task(connection.gone.wait())
        ends: tuple[asyncio.Future[Any], ...] = (self._waiting[name], gone)
        try:
            await asyncio.wait(
                ends,
                timeout=self._resend_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            gone.cancel()

    async def _free(self) -> Connection:
        """Return a connection, waiting for one; connections take turns."""
        async with self._changed:
            while not (free := [one for one in self._connections if not one.is_leaving]):
                await self._changed.wait()
        return free[self._made % len(free)]

    def disable(self) -> None:
        """Tell every connection that the app may no longer connect."""
        for connection in self._connections:
            connection.is_leaving = True
            told = connection.socket.send_json({"type": "disconnect", "reason": "link_disabled"})
            self._sends.add(task := asyncio.ensure_future(told))
            task.add_done_callback(self._sends.discard)

    async def disconnect(self, reason: str) -> None:
        """Announce the end of every connection; return once new ones have replaced them.

        As on Slack, an old one is closed only after that.
        """
        old = [one for one in self._connections if not one.is_leaving]
        told = {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-1"}}
        for connection in old:
            await connection.socket.send_json(told)
        async with asyncio.timeout(_MAX_WAIT_S), self._changed:
            while not [one for one in self._connections if one not in old]:
                await self._changed.wait()
        for connection in old:
            connection.is_leaving = True
            await connection.socket.close()

    async def tell(self, frame: Json) -> None:
        """Send a frame over every connection."""
        for connection in self._connections:
            await connection.socket.send_json(frame)

    async def cut(self) -> None:
        """Drop every connection without a close frame, like a network failure."""
        for connection in tuple(self._connections):
            connection.is_leaving = True
            transport = connection.socket._req.transport if connection.socket._req else None
            if transport is not None:
                transport.abort()

    async def wait_open(self, opened: int = 1) -> None:
        """Wait until this many connections have been opened in total, and one is open."""
        async with asyncio.timeout(_MAX_WAIT_S), self._changed:
            while self.opened < opened or not self._connections:
                await self._changed.wait()

    async def close(self) -> None:
        """Close every connection properly."""
        for connection in tuple(self._connections):
            connection.is_leaving = True
            await connection.socket.close()

    async def _change(self, connection: Connection, *, joins: bool) -> None:
        async with self._changed:
            if joins:
                self._connections.append(connection)
            else:
                self._connections.remove(connection)
            self._changed.notify_all()

    def _acknowledged(self, data: str) -> None:
        try:
            found = msgspec.json.decode(data, type=dict[str, Any])
        except msgspec.DecodeError:
            self.rejections.append("socket: a frame that is not a JSON object")
            return
        name = found.get("envelope_id", "")
        if name not in self.sent or set(found) - {"envelope_id", "payload"}:
            self.rejections.append("socket: an acknowledgement of nothing that was sent")
            return
        waiting = self._waiting.get(name)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
