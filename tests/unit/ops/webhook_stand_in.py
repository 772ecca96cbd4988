"""Webhooks of Slack, Discord and others on a loopback port, which reject what the real ones reject."""

import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class Hooks:
    """What was posted, by path; `faults` are statuses that are answered first."""

    url: str = ""
    posted: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    faults: deque[int] = field(default_factory=deque)
    refused: int = 0

    async def handle(self, request: web.Request) -> web.Response:
        if self.faults:
            self.refused += 1
            return web.Response(status=self.faults.popleft())
        body = json.loads(await request.read())
        if request.content_type != "application/json" or not _takes(request.path, body):
            return web.Response(status=400, text="invalid_payload")
        self.posted.append((request.path, body))
        return web.Response(status=204 if request.path == "/discord" else 200)


def _takes(path: str, body: dict[str, Any]) -> bool:
    if path == "/slack":
        return set(body) == {"text"} and bool(body["text"])
    if path == "/discord":
        return set(body) == {"content", "allowed_mentions"} and 0 < len(body["content"]) <= 2_000
    return True


@asynccontextmanager
async def webhooks() -> AsyncIterator[Hooks]:
    """Run the webhooks."""
    hooks = Hooks()
    app = web.Application()
    app.router.add_post("/{any:.*}", hooks.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    hooks.url = f"http://{host}:{port}"
    try:
        yield hooks
    finally:
        await runner.cleanup()
