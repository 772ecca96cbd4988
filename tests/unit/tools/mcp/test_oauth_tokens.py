"""Tokens of OAuth, against an issuer on a socket that gives each refresh token once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from urllib.parse import parse_qs

import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hermes.config import McpOAuthSettings
from hermes.tools.mcp.clean_text import Scrubber
from hermes.tools.mcp.connection import LinkLost
from hermes.tools.mcp.grants import Grant, GrantStore
from hermes.tools.mcp.oauth_wire import OAuthTokens, fenced_client
from tests.system.real_mcp import free_port, until

SERVER = "https://tickets.example.org/mcp"


class Issuer:
    """Gives tokens for the newest refresh token, and for no other; `during` runs before it answers."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.good = "r0"
        self.asked: list[str] = []
        self.heard = asyncio.Event()
        self.during = asyncio.Event()
        self.during.set()
        self._numbers = count(1)

    async def metadata(self, _request: Request) -> JSONResponse:
        return JSONResponse({"issuer": self.url, "token_endpoint": f"{self.url}/token"})

    async def token(self, request: Request) -> JSONResponse:
        form = parse_qs((await request.body()).decode())
        self.asked.append(form["refresh_token"][0])
        is_good = self.asked[-1] == self.good
        self.heard.set()
        number = next(self._numbers)
        if is_good:
            self.good = f"r{number}"
        await self.during.wait()
        if not is_good:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse(
            {"access_token": f"a{number}", "token_type": "Bearer", "refresh_token": self.good}
        )


class Kept:
    """Keeps one grant, as the store does for all nodes."""

    def __init__(self, grant: Grant) -> None:
        self.grant: Grant | None = grant
        self.lock = asyncio.Lock()

    def now(self) -> float:
        return 1_000.0

    async def load(self, server: str) -> Grant | None:
        return self.grant

    async def save(self, server: str, grant: Grant) -> None:
        self.grant = grant

    async def replace(self, server: str, grant: Grant, *, before: Grant) -> bool:
        is_same = self.grant == before
        self.grant = grant if is_same else self.grant
        return is_same

    async def drop(self, server: str) -> bool:
        self.grant = None
        return True

    @asynccontextmanager
    async def renewing(self, _server: str) -> AsyncIterator[None]:
        async with self.lock:
            yield


@asynccontextmanager
async def issuer_runs() -> AsyncIterator[Issuer]:
    port = free_port()
    issuer = Issuer(port)
    app = Starlette(
        routes=[
            Route("/.well-known/oauth-authorization-server", issuer.metadata),
            Route("/token", issuer.token, methods=["POST"]),
        ]
    )
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    running = asyncio.create_task(server.serve())

    async def is_up() -> bool:
        return server.started

    await until(is_up)
    try:
        yield issuer
    finally:
        server.should_exit = True
        await running


def grant_of(issuer: str, *, url: str = SERVER, expires_at: float = 0.0) -> Grant:
    return Grant(
        url=url,
        issuer=issuer,
        client_id="hermes",
        access_token="a0",
        refresh_token="r0",
        expires_at=expires_at,
    )


def tokens_of(kept: GrantStore, issuer: str, *, url: str = SERVER) -> OAuthTokens:
    settings = McpOAuthSettings.model_validate({"issuer": issuer})
    return OAuthTokens(
        "tickets",
        settings,
        url=url,
        grants=kept,
        client=lambda: fenced_client(
            httpx2.AsyncHTTPTransport(), frozenset({issuer, "https://tickets.example.org:443"})
        ),
        scrubber=Scrubber(()),
        lost=lambda _reason: None,
    )


async def sent(tokens: OAuthTokens, *, url: str = SERVER) -> str:
    """Return what a request to the server carries."""
    flow = tokens.async_auth_flow(httpx2.Request("POST", url))
    request = await anext(flow)
    await flow.aclose()
    return request.headers["authorization"]


async def test_two_processes_use_each_refresh_token_once() -> None:
    async with issuer_runs() as issuer:
        kept = Kept(grant_of(issuer.url, expires_at=2_000.0))
        one, two = tokens_of(kept, issuer.url), tokens_of(kept, issuer.url)
        await one.prepare()
        await two.prepare()
        kept.now = lambda: 3_000.0  # type: ignore[method-assign]
        assert await sent(one) == "Bearer a1"
        assert await sent(two) == "Bearer a1"
        assert issuer.asked == ["r0"]


async def test_tokens_are_sent_to_no_other_server() -> None:
    async with issuer_runs() as issuer:
        kept = Kept(grant_of(issuer.url, expires_at=9_000.0))
        other = "https://other.example.org/mcp"
        with pytest.raises(LinkLost, match="it needs a login"):
            await tokens_of(kept, issuer.url, url=other).prepare()
        assert issuer.asked == []


async def test_tokens_are_sent_to_no_other_issuer() -> None:
    async with issuer_runs() as issuer:
        kept = Kept(grant_of("https://login.example.org"))
        with pytest.raises(LinkLost, match="it needs a login"):
            await tokens_of(kept, issuer.url).prepare()
        assert issuer.asked == []


async def test_a_logout_during_a_renewal_counts() -> None:
    async with issuer_runs() as issuer:
        kept = Kept(grant_of(issuer.url))
        issuer.during.clear()
        renewing = asyncio.create_task(tokens_of(kept, issuer.url).prepare())
        await asyncio.wait_for(issuer.heard.wait(), 10)
        await kept.drop("tickets")
        issuer.during.set()
        with pytest.raises(LinkLost, match="it needs a login"):
            await renewing
        assert kept.grant is None


async def test_no_answer_about_tokens_is_read_without_end() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n")
        try:
            for _ in range(1_000):
                writer.write(b"x" * 100_000)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(endless, "127.0.0.1", 0)
    origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, fenced_client(httpx2.AsyncHTTPTransport(), frozenset({origin})) as http:
        with pytest.raises(LinkLost, match="exceeds 262,144 bytes"):
            await http.get(origin)
