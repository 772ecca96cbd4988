"""A large answer of the homeserver is read beside the loop: one that has to be mended takes long."""

import threading
from collections.abc import AsyncIterator

import pytest

from hermes.channels.matrix.client import MatrixClient
from hermes.net.client import HttpClient, HttpSettings
from hermes.plugins.manifest import load_manifest
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


def threads_of_the_loop() -> int:
    return sum(one.name.startswith("asyncio_") for one in threading.enumerate())


@pytest.mark.req("A8")
@pytest.mark.parametrize(("size", "threads"), [(100, 0), (100_000, 1)])
async def test_a_large_answer_is_read_on_another_thread(http, size, threads):
    # Half a character, for which everything is read again.
    body = b'{"next_batch":"s1","x":"\\ud800","y":[' + b"[]," * size + b"1]}"

    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.raw(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    async with ScriptedHttp(answer) as server:
        client = MatrixClient(
            http,
            server.origin,
            rows=load_manifest("hermes.channels.matrix").rows,
            make_id=str,
            on_revoked=lambda _: None,
        )
        before = threads_of_the_loop()
        sync = await client.sync(since=None, wait_s=0, asked={})

    assert (sync.next_batch, threads_of_the_loop() - before) == ("s1", threads)
