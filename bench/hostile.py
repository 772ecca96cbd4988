"""Hostile clients in a process of their own: `python -m bench.hostile PORT TOKEN WHAT`.

It prints one line when every client has begun, and goes on until its standard input closes.
"""

import asyncio
import json
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

    async def flood_head(self) -> None:
        """Send a head of 100 MB."""
        await self._send_and_wait(self._line + b"x: ", *([b"y" * 100_000] * 1000))

    async def flood_inbox(self) -> None:
        """Send messages of one sender without waiting for answers, to old and new conversations."""
        texts: list[dict[str, object]] = [
            {"sender": "mallory", "conversation": f"c{number % 50}", "text": "hello [[slow]]"}
            for number in range(1000)
        ]
        await self._ask_all("/api/messages?wait=false", texts)

    async def open_call(self) -> None:
        """Make a call that takes twenty seconds."""
        messages = [{"role": "user", "content": f"{id(self)} [[slow]]"}]
        await self._ask_all(
            "/v1/chat/completions", [{"model": "auto", "stream": True, "messages": messages}]
        )

    async def embed_many(self) -> None:
        """Ask for the embeddings of 2,048 texts."""
        texts = [f"{number} the weather is fine in Oslo, so take a walk" for number in range(2048)]
        await self._ask_all("/v1/embeddings", [{"model": "minilm", "input": texts}])

    async def _ask_all(self, path: str, bodies: list[dict[str, object]]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = self._head.replace(b"/api/messages", path.encode())
        # An event stream would be answered to its end.
        head = head.replace(b"accept: text/event-stream\r\n", b"")
        with suppress(ConnectionError):
            for number, one in enumerate(bodies, 1):
                body = json.dumps(one).encode()
                last = b"connection: close\r\n" if number == len(bodies) else b""
                writer.write(head + last + b"content-length: %d\r\n\r\n" % len(body) + body)
                if not last:
                    answer = await reader.readuntil(b"\r\n\r\n")
                    await reader.readexactly(_content_length(answer))
            await reader.read()
        writer.transport.abort()

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


# Attacks of one client on all others: how many do what.
ATTACKS: dict[str, tuple[tuple[int, Callable[[Client], Awaitable[None]]], ...]] = {
    "head_flood": ((1, Client.flood_head), (500, Client.silent)),
    "inbox_flood": ((20, Client.flood_inbox),),
    "open_calls": ((30, Client.open_call),),
    "embeddings": ((3, Client.embed_many),),
}


def _content_length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next(int(one[15:]) for one in lines if one.startswith(b"content-length:"))


async def _go_on(client: Client, do: Callable[[Client], Awaitable[None]]) -> None:
    while True:
        with suppress(OSError, EOFError):
            await do(client)
        await asyncio.sleep(PAUSE_S)


async def _run(port: int, token: str, what: str) -> None:
    doing = ATTACKS[what] if what in ATTACKS else ((CLIENTS, ROUNDS[what]),)
    tasks = [
        asyncio.create_task(_go_on(Client(port, token), do))
        for count, do in doing
        for _ in range(count)
    ]
    await asyncio.sleep(PAUSE_S)
    print("begun", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(_run(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
