"""A misbehaving MCP server over HTTP: old-fashioned, with sessions, one wrong thing per tool."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]
TOOLS = ["echo", "huge", "packed", "long_event", "elsewhere", "html", "cut", "hang", "refuse"]


class RawHttp:
    """The server; `sessions` are those it knows, `seen` everything it was sent."""

    def __init__(self) -> None:
        self.sessions: set[str] = set()
        self.made = 0
        self.calls: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.token: str | None = None
        self.url = ""

    async def post(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        if self.token is not None and request.headers.get("authorization") != self.token:
            return web.json_response({"error": "who are you?"}, status=401)
        message = json.loads(await request.read())
        method, number = message.get("method"), message.get("id")
        if number is None:
            return web.Response(status=202)
        if method == "initialize":
            return self._session(number)
        if request.headers.get("mcp-session-id") not in self.sessions:
            return web.json_response({"error": "unknown"}, status=404)
        if method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]
            return answer(number, {"tools": tools})
        if method == "tools/call":
            name = message["params"]["name"]
            self.calls.append(name)
            handler: Handler = getattr(self, f"do_{name}")
            return await handler(request, message)
        return answer(number, error={"code": -32601, "message": "unknown"})

    def _session(self, number: Any) -> web.Response:
        self.made += 1
        name = f"session-{self.made}"
        self.sessions.add(name)
        made = answer(
            number,
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "raw", "version": "1"},
            },
        )
        made.headers["mcp-session-id"] = name
        return made

    async def do_echo(self, _request: web.Request, message: dict[str, Any]) -> web.Response:
        return said(message, "hello")

    async def do_huge(self, request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/json"})
        await response.prepare(request)
        piece = b" " * 1_000_000
        try:
            for _ in range(100):
                await response.write(piece)
        except ConnectionError:
            self.calls.append("hung up on")
        return response

    async def do_packed(self, _request: web.Request, message: dict[str, Any]) -> web.Response:
        body = gzip.compress(json.dumps({"x": "y" * 50_000_000}).encode())
        headers = {"content-encoding": "gzip", "content-type": "application/json"}
        return web.Response(body=body, headers=headers)

    async def do_long_event(
        self, request: web.Request, message: dict[str, Any]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: " + b"x" * 3_000_000 + b"\n\n")
        return response

    async def do_elsewhere(self, _request: web.Request, _message: dict[str, Any]) -> web.Response:
        return web.Response(status=307, headers={"location": "http://localhost:1/mcp"})

    async def do_html(self, _request: web.Request, _message: dict[str, Any]) -> web.Response:
        return web.Response(text="<html>", content_type="text/html")

    async def do_cut(self, request: web.Request, _message: dict[str, Any]) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def do_hang(self, _request: web.Request, _message: dict[str, Any]) -> web.Response:
        await asyncio.sleep(3_600)
        return web.Response()

    async def do_refuse(self, _request: web.Request, _message: dict[str, Any]) -> web.Response:
        return web.Response(status=503)

    async def get(self, _request: web.Request) -> web.Response:
        return web.Response(status=405)


def answer(number: Any, result: Any = None, *, error: Any = None) -> web.Response:
    outcome = {"error": error} if error is not None else {"result": result}
    return web.json_response({"jsonrpc": "2.0", "id": number, **outcome})


def said(message: dict[str, Any], words: str) -> web.Response:
    return answer(message["id"], {"content": [{"type": "text", "text": words}]})


@asynccontextmanager
async def serving(server: RawHttp, port: int = 0) -> AsyncIterator[RawHttp]:
    """Serve on loopback until left."""
    app = web.Application(client_max_size=10**9)
    app.router.add_post("/mcp", server.post)
    app.router.add_get("/mcp", server.get)
    app.router.add_delete("/mcp", server.get)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
    await site.start()
    server.url = f"{site.name}/mcp"
    try:
        yield server
    finally:
        await runner.cleanup()
