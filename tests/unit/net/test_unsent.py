"""A call that is given up knows whether its request had left."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from hermes.errors import is_unsent
from hermes.net.client import HttpClient, HttpSettings


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port whose queue of connections is full: nobody gets through to it."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    waiting = [socket.socket() for _ in range(4)]
    for one in waiting:
        one.setblocking(False)
        one.connect_ex(listener.getsockname())
    yield listener.getsockname()[1]
    for one in (*waiting, listener):
        one.close()


async def given_up(port: int, ready: asyncio.Event) -> asyncio.CancelledError:
    """Call a port, give the call up once `ready`, and return how it ended."""
    client = HttpClient(HttpSettings())
    caught: list[asyncio.CancelledError] = []

    async def call() -> None:
        url = f"http://127.0.0.1:{port}/"
        try:
            async with client.request("model", "POST", url, body=b"{}", trusted=True):
                raise AssertionError("it was answered")
        except asyncio.CancelledError as error:
            # Whoever waits for the task gets another one.
            caught.append(error)
            raise

    task = asyncio.create_task(call())
    async with asyncio.timeout(20):
        await ready.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await client.close()
    (error,) = caught
    return error


async def test_a_call_that_never_connected_was_not_sent(deaf: int) -> None:
    ready = asyncio.Event()
    asyncio.get_running_loop().call_later(0.2, ready.set)

    assert is_unsent(await given_up(deaf, ready))


async def test_a_call_that_a_silent_server_has_was_sent() -> None:
    ready = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        ready.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server:
        error = await given_up(server.sockets[0].getsockname()[1], ready)

    assert not is_unsent(error)
