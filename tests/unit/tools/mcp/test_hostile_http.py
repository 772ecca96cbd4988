"""Servers over HTTP that misbehave, lose their sessions, or go away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from hermes.config import McpSettings
from hermes.errors import ToolError
from hermes.ports.clock import SystemClock
from hermes.tools.mcp.report import ServerStatus
from hermes.tools.mcp.servers import McpServers
from tests.unit.tools.mcp.raw_http import RawHttp, serving
from tests.unit.tools.mcp.twin_link import context_of


@asynccontextmanager
async def a_client(url: str, **given: Any) -> AsyncIterator[McpServers]:
    server = {"url": url, "max_message_bytes": 1_000_000, **given}
    settings = McpSettings.model_validate({"servers": {"s": server}, "start_wait_s": 20})
    client = McpServers(settings, clock=SystemClock())
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


@pytest.fixture
async def server() -> AsyncIterator[RawHttp]:
    async with serving(RawHttp()) as server:
        yield server


async def run(client: McpServers, name: str) -> str:
    return await client.tools()[f"mcp_s_{name}"].run(msgspec.Raw(b"{}"), context_of())


async def failure(client: McpServers, name: str) -> str:
    with pytest.raises(ToolError) as caught:
        await run(client, name)
    return str(caught.value)


def status(client: McpServers) -> ServerStatus:
    return client.status().servers[0]


@pytest.mark.req("W37")
@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("huge", "the answer exceeds 1,000,000 bytes"),
        ("long_event", "SSE stream failed"),
        ("elsewhere", "not followed"),
        ("html", "Unexpected content type"),
        ("refuse", "error response"),
    ],
)
async def test_a_wrong_answer_costs_its_call_and_not_the_connection(
    server: RawHttp, tool: str, told: str
) -> None:
    async with a_client(server.url) as client:
        assert told in await failure(client, tool)

        assert await run(client, "echo") == "hello"
        assert (status(client).state, server.made) == ("connected", 1)


@pytest.mark.req("W37")
async def test_a_compressed_answer_is_not_unpacked(server: RawHttp) -> None:
    async with a_client(server.url) as client:
        assert "the answer is compressed" in await failure(client, "packed")

        assert await run(client, "echo") == "hello"
    assert {headers["Accept-Encoding"] for headers in server.headers} == {"identity"}


@pytest.mark.req("W37")
async def test_a_call_that_was_cut_off_may_have_taken_effect_and_is_not_repeated(
    server: RawHttp,
) -> None:
    async with a_client(server.url) as client:
        assert "may or may not have taken effect" in await failure(client, "cut")

        assert await run(client, "echo") == "hello"
    assert server.calls == ["cut", "echo"]


@pytest.mark.req("W37")
async def test_a_call_that_hangs_ends_in_time(server: RawHttp) -> None:
    async with a_client(server.url, timeout_s=1) as client:
        assert "gave no result within 1 s" in await failure(client, "hang")
        assert await run(client, "echo") == "hello"


@pytest.mark.req("W37")
async def test_a_session_that_the_server_forgot_is_made_anew_and_the_call_again(
    server: RawHttp,
) -> None:
    async with a_client(server.url) as client:
        server.sessions.clear()

        assert await run(client, "echo") == "hello"

        assert (server.made, server.calls) == (2, ["echo"])


@pytest.mark.req("W37")
async def test_a_server_that_goes_away_and_returns_answers_again() -> None:
    server = RawHttp()
    async with serving(server):
        port = urlsplit(server.url).port
        stack = a_client(server.url)
        client = await stack.__aenter__()
        assert await run(client, "echo") == "hello"

    assert "is not connected" in await failure(client, "echo")
    assert (status(client).problem or "").startswith("no connection to the server")

    async with serving(server, port or 0):
        assert await run(client, "echo") == "hello"
        await stack.__aexit__(None, None, None)
    assert server.calls == ["echo", "echo"]


@pytest.mark.req("W35", "W37")
async def test_headers_are_sent_and_their_absence_is_explained(server: RawHttp) -> None:
    server.token = "Bearer canary-0123456789"
    async with a_client(server.url) as client:
        problem = status(client).problem or ""
        assert problem.startswith("the server answered HTTP 401 (Unauthorized); check the headers")

    async with a_client(server.url, headers={"authorization": server.token}) as client:
        assert await run(client, "echo") == "hello"
        assert "canary" not in repr(client.status())


@pytest.mark.req("W37")
async def test_what_is_no_mcp_server_is_reported(server: RawHttp) -> None:
    async with a_client(server.url.replace("/mcp", "/nothing")) as client:
        assert (status(client).problem or "").startswith("the server answered HTTP 404 (Not Found)")
    async with a_client(server.url.replace("/mcp", "/nothing"), transport="sse") as client:
        assert "404" in (status(client).problem or "")


@pytest.mark.req("W37")
async def test_calls_side_by_side_are_made_at_once(server: RawHttp) -> None:
    async with a_client(server.url, parallel=True) as client, asyncio.timeout(30):
        slow = asyncio.create_task(failure(client, "hang"))
        while not server.calls:  # noqa: ASYNC110  a request brings it
            await asyncio.sleep(0)

        assert await run(client, "echo") == "hello"
        assert not slow.done()
        slow.cancel()
        await asyncio.wait({slow})
