"""An agent of another system that lies in its answers: too much, too deep, without an end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.system.live import Live, live_gateway
from tests.system.test_a2a import control, prepared
from tests.system.test_a2a_remote import GOOD, ended, home_at, interface, say

WORKING = {"state": "TASK_STATE_WORKING"}
PIECES = 30


class Liar:
    """Answers every message with the lie that it names."""

    def __init__(self) -> None:
        self.looks = 0
        self.is_asked = asyncio.Event()
        self.is_asked_to_cancel = asyncio.Event()

    async def card(self, request: web.Request) -> web.Response:
        url = f"http://{request.host}/call"
        capabilities = {"streaming": True}
        card = {**GOOD, "capabilities": capabilities, "supportedInterfaces": interface(url)}
        return web.json_response(card)

    async def call(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        method, number = asked["method"], asked["id"]
        if method == "CancelTask":
            self.is_asked_to_cancel.set()
            await asyncio.sleep(600)
        if method == "GetTask":
            self.looks += 1
            self.is_asked.set()
            return _said(number, self._task(asked["params"]["id"].rstrip("0123456789")))
        lie = asked["params"]["message"]["parts"][-1]["text"]
        if lie == "streamed":
            return await _stream(request, number)
        return _said(number, {"task": self._task(lie)} if lie in TASKS else _message(LIES[lie]))

    # Any: JSON, here and below.
    def _task(self, lie: str) -> dict[str, Any]:
        task = {"id": lie, "contextId": "c", "status": WORKING}
        if lie == "piled":
            parts = [{"text": "x" * 200_000}]
            names = range(PIECES * self.looks, PIECES * (self.looks + 1))
            return {**task, "artifacts": [{"artifactId": f"a{n}", "parts": parts} for n in names]}
        return {**task, "id": f"renamed{self.looks}"} if lie == "renamed" else task


TASKS = ("piled", "endless", "renamed")
LIES: dict[str, Any] = {"many": [1] * 300_000, "good": "[{,".join(["text"] * 9_000)}


def _message(content: Any) -> dict[str, Any]:
    part = {"text": content} if isinstance(content, str) else {"data": content}
    return {"message": {"messageId": "x", "role": "ROLE_AGENT", "parts": [part]}}


def _said(number: Any, result: Any) -> web.Response:
    return web.json_response({"jsonrpc": "2.0", "id": number, "result": result})


async def _stream(request: web.Request, number: Any) -> web.StreamResponse:
    """Write an event whose values come in small pieces."""
    answer = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await answer.prepare(request)
    whole = {"jsonrpc": "2.0", "id": number, "result": _message(LIES["many"])}
    data = f"data: {json.dumps(whole)}\n\n".encode()
    for at in range(0, len(data), 10_000):
        await answer.write(data[at : at + 10_000])
    return answer


@asynccontextmanager
async def liar(tmp_path: Path) -> AsyncIterator[tuple[Live, Liar]]:
    """Yield a gateway that has the liar as its agent `far`."""
    server = Liar()
    app = web.Application()
    app.router.add_get("/.well-known/agent-card.json", server.card)
    app.router.add_post("/call", server.call)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    listening = site._server
    assert isinstance(listening, asyncio.Server)
    url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        async with live_gateway(home_at(tmp_path / "home")) as live:
            await control(live, "POST", "/control/remote-agents", url=url, name="far")
            await prepared(live, "far")
            yield live, server
    finally:
        await runner.cleanup()


@pytest.mark.req("M10", "M10")
async def test_an_answer_that_would_keep_the_gateway_busy_is_not_read(tmp_path: Path) -> None:
    async with liar(tmp_path) as (live, _):
        many = await say(live, "far", "many")
        streamed = await say(live, "far", "streamed", context_id="c2")
        piled = await say(live, "far", "piled", context_id="c3")
        good = await say(live, "far", "good", context_id="c4")
        renamed = await say(live, "far", "renamed", context_id="c5")

    assert [one["outcome"] for one in (many, streamed, piled, renamed)] == ["failed"] * 4
    assert "gave its task another name" in renamed["reply"]
    assert "too many values" in many["reply"], many
    assert "too many values" in streamed["reply"], streamed
    assert "more than 1,000,000 characters" in piled["reply"]
    assert (good["outcome"], good["reply"]) == ("answered", LIES["good"])


@pytest.mark.req("M10", "J12")
async def test_a_stop_does_not_wait_for_an_agent_that_never_confirms_it(tmp_path: Path) -> None:
    async with liar(tmp_path) as (live, server):
        sent = await control(
            live, "POST", "/api/messages?wait=false", agent="far", text="endless", sender="ann"
        )
        await server.is_asked.wait()
        await control(
            live, "POST", "/api/messages?wait=false", agent="far", text="/stop", sender="ann"
        )
        await server.is_asked_to_cancel.wait()
        stopped = await ended(live, sent["id"])

    assert stopped["outcome"] == "interrupted"
