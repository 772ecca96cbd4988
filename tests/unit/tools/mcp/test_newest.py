"""The newest revision, spoken with a server of the official SDK over pipes and over HTTP."""

import asyncio
import socket
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.config import McpSettings
from hermes.errors import ToolError
from hermes.ports.clock import SystemClock
from hermes.ports.tool import ToolContext
from hermes.tools.mcp.questions import Schema
from hermes.tools.mcp.servers import McpServers
from tests.unit.tools.mcp.twin_link import context_of

SCRIPT = str(Path(__file__).with_name("sdk_server.py"))
NEWEST = "2026-07-28"


class Person:
    """Answers with a name, or declines."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.asked: list[tuple[str, str]] = []

    async def __call__(
        self, context: ToolContext, text: str, *, schema: Schema, within_s: float
    ) -> Mapping[str, Any] | None:
        self.asked.append((context.person_id, text.splitlines()[1]))
        return None if self.name is None else {"name": self.name}


async def until_listening(port: int) -> None:
    """Wait until a server answers: after a connection that failed, the client shakes hands first."""
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


@asynccontextmanager
async def http_server() -> AsyncIterator[dict[str, Any]]:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, SCRIPT, str(port), stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
    )
    try:
        await until_listening(port)
        yield {"url": f"http://127.0.0.1:{port}/mcp"}
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def pipe_server() -> AsyncIterator[dict[str, Any]]:
    yield {"command": sys.executable, "args": [SCRIPT]}


@asynccontextmanager
async def a_client(server: Mapping[str, Any], **given: Any) -> AsyncIterator[McpServers]:
    settings = McpSettings.model_validate({"servers": {"s": server}, "start_wait_s": 30})
    client = McpServers(settings, clock=SystemClock(), **given)
    connected = asyncio.Event()
    client.on_change(lambda _diff: connected.set())
    await client.start()
    # A server over HTTP may still be starting when it is called for the first time.
    await asyncio.wait_for(connected.wait(), 30)
    try:
        yield client
    finally:
        await client.stop()


async def run(client: McpServers, name: str, person: str = "p_ann") -> str:
    return await client.tools()[f"mcp_s_{name}"].run(msgspec.Raw(b"{}"), context_of(person))


@pytest.mark.req("W37")
@pytest.mark.parametrize("start", [pipe_server, http_server])
async def test_the_newest_revision_over_pipes_and_http(start: Any) -> None:
    told: list[str] = []
    ada = Person("Ada")
    async with (
        start() as server,
        a_client(server, ask=ada, tell=lambda _context, text: told.append(text)) as client,
    ):
        # when its tools are called, then it speaks the newest revision
        assert await run(client, "revision") == NEWEST
        assert client.status().servers[0].protocol == NEWEST
        # a question reaches the person of the call, and the answer the server
        assert await run(client, "greet", "p_ada") == "Hello, Ada!"
        assert ada.asked == [("p_ada", "Who are you?")]
        # progress is passed on
        assert await run(client, "steps") == "done"
        assert told == ["1 of 2: half way"]
        # a list that grows is followed
        grown = asyncio.Event()
        client.on_change(lambda _diff: grown.set())
        assert await run(client, "grow") == "grown"
        await asyncio.wait_for(grown.wait(), 10)
        assert await run(client, "grown") == NEWEST
        # a call that nobody waits for any more is cancelled at the server
        running = asyncio.create_task(run(client, "hang"))
        await asyncio.wait({running}, timeout=0.3)
        running.cancel()
        await asyncio.wait({running})
        assert await run(client, "was_cancelled") == "hang"


@pytest.mark.req("W37")
async def test_who_declines_is_heard_and_old_and_new_can_be_chosen() -> None:
    server = {"command": sys.executable, "args": [SCRIPT]}
    async with a_client({**server, "protocol": "stateless"}, ask=Person(None)) as client:
        with pytest.raises(ToolError, match="decline"):
            await run(client, "greet")
        assert client.status().servers[0].protocol == NEWEST
    async with a_client({**server, "protocol": "handshake"}, ask=Person("Ada")) as client:
        assert await run(client, "greet") == "Hello, Ada!"
        assert client.status().servers[0].protocol < NEWEST
