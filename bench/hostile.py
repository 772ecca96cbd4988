"""Hostile clients in a process of their own: `python -m bench.hostile PORT TOKEN WHAT`.

It prints one line when every client has begun, and goes on until its standard input closes.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

CLIENTS = 100
PAUSE_S = 0.1


class Client:
    """One client: what it sends, again and again, over new connections."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._line = b"POST /api/messages HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        self._head = self._line + f"authorization: Bearer {token}\r\n".encode()
        self._head += b"content-type: application/json\r\naccept: text/event-stream\r\n"

    async def silent(self) -> None:
        """Connect and send nothing."""
        await self._send_and_wait()

    async def half_head(self) -> None:
        """Send half of a head."""
        await self._send_and_wait(self._line)

    async def slow_head(self) -> None:
        """Send a head byte by byte."""
        await self._send_and_wait(self._line + b"x: ", *([b"y"] * 10_000), gap_s=0.05)

    async def huge_header(self) -> None:
        """Send a header of 10 MB."""
        await self._send_and_wait(self._line + b"x: ", *([b"y" * 100_000] * 100))

    async def many_headers(self) -> None:
        """Send a hundred thousand headers."""
        await self._send_and_wait(self._line, *([b"x: y\r\n" * 1000] * 100))

    async def tiny_chunks(self) -> None:
        """Send a body in chunks of one byte."""
        head = self._head + b"transfer-encoding: chunked\r\n\r\n"
        await self._send_and_wait(head, *([b"1\r\n \r\n" * 1000] * 100))

    async def half_body(self) -> None:
        """Send half of a body."""
        await self._send_and_wait(self._head + b"content-length: 1000\r\n\r\n{")

    async def unread(self) -> None:
        """Ask on and on and read nothing."""
        ask = b"GET /assets/app.js HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
        await self._send_and_wait(*([ask] * 10_000), gap_s=0.01, reads=False)

    async def aborted(self) -> None:
        """Ask twenty times and leave before the answers are there."""
        ask = b"GET /assets/app.js HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
        await self._send_and_wait(ask * 20, stays_s=0)

    async def _send_and_wait(
        self, *pieces: bytes, gap_s: float = 0, reads: bool = True, stays_s: float | None = None
    ) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        if not reads:
            writer.transport.pause_reading()  # type: ignore[attr-defined]
        with suppress(ConnectionError, TimeoutError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(gap_s)
            async with asyncio.timeout(stays_s):
                await reader.read() if reads else await asyncio.Event().wait()
        writer.transport.abort()


ROUNDS: dict[str, Callable[[Client], Awaitable[None]]] = {
    "silent": Client.silent,
    "half_head": Client.half_head,
    "slow_head": Client.slow_head,
    "huge_header": Client.huge_header,
    "many_headers": Client.many_headers,
    "tiny_chunks": Client.tiny_chunks,
    "half_body": Client.half_body,
    "unread": Client.unread,
    "aborted": Client.aborted,
}


async def _go_on(client: Client, do: Callable[[Client], Awaitable[None]]) -> None:
    while True:
        with suppress(OSError):
            await do(client)
        await asyncio.sleep(PAUSE_S)


async def _run(port: int, token: str, what: str) -> None:
    clients = [Client(port, token) for _ in range(CLIENTS)]
    tasks = [asyncio.create_task(_go_on(client, ROUNDS[what])) for client in clients]
    await asyncio.sleep(PAUSE_S)
    print("begun", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
