"""Agents of other systems as agents here: another gateway, the SDK's own server, and cards that lie."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.system.live import Live, live_gateway, model_server, run_command, with_model
from tests.system.test_a2a import control, prepared

CONFIG = "net:\n  exempt: [127.0.0.1/32]\n"


def home_at(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    (folder / "config.yaml").write_text(CONFIG)
    return folder


# Any: JSON.
async def say(live: Live, agent: str, text: str, **more: Any) -> Any:
    return await control(live, "POST", "/api/messages", agent=agent, text=text, **more)


@asynccontextmanager
async def two_gateways(tmp_path: Path) -> AsyncIterator[tuple[Live, Live]]:
    """Yield a gateway that has an agent `far` in another one, and that one."""
    async with (
        model_server() as url,
        live_gateway(home_at(tmp_path / "there"), with_model(url)) as there,
        live_gateway(home_at(tmp_path / "here"), with_model(url)) as here,
    ):
        key = (await control(there, "POST", "/control/keys", user="here"))["secret"]
        await control(here, "PUT", "/settings/secrets", key="FAR_KEY", value=key)
        added = await run_command(
            here.home,
            *("agents", "add-remote", f"{there.url}/workspaces/main"),
            *("--name", "far", "--secret", "FAR_KEY"),
        )
        assert "Added far" in added.stdout, added.stderr
        yield here, there


@pytest.mark.req("M10")
async def test_a_remote_agent_answers_as_an_agent_here(tmp_path: Path) -> None:
    async with two_gateways(tmp_path) as (here, there):
        shown = await control(here, "GET", "/workspaces/far")
        first = await say(here, "far", "one")
        second = await say(here, "far", "two")
        apart = await say(here, "far", "three", context_id="c1")
        theirs = await control(there, "GET", "/control/why/" + await newest(there))

    assert (shown["runtime"], shown["description"]) == ("a2a", "Answers everyone.")
    assert [one["reply"] for one in (first, second, apart)] == ["#1 one", "#2 two", "#1 three"]
    assert theirs["platform"] == "a2a"


async def newest(live: Live) -> str:
    """Return the newest message of a gateway."""
    found = await control(live, "GET", "/control/interactions?limit=1")
    return str(found["interactions"][0]["message_id"])


@pytest.mark.req("M10")
@pytest.mark.torture
async def test_a_call_of_a_remote_agent_goes_on_after_kill_9(tmp_path: Path) -> None:
    async with (
        model_server() as url,
        live_gateway(home_at(tmp_path / "there"), with_model(url)) as there,
    ):
        key = (await control(there, "POST", "/control/keys", user="here"))["secret"]
        home = home_at(tmp_path / "here")
        async with live_gateway(home, with_model(url)) as here:
            await control(here, "PUT", "/settings/secrets", key="FAR_KEY", value=key)
            await control(
                here,
                "POST",
                "/control/remote-agents",
                url=f"{there.url}/workspaces/main",
                name="far",
                secret="FAR_KEY",
            )
            await prepared(here, "far")
            asked = await control(
                here, "POST", "/api/messages?wait=false", agent="far", text="[[slow:3]] Hello"
            )
            await begun(there)
            here.process.kill()
            await here.process.wait()
        async with live_gateway(home, with_model(url)) as here:
            answered = await ended(here, asked["id"])
        turns = await control(there, "GET", "/control/interactions?limit=10")

    assert (answered["outcome"], answered["reply"]) == ("answered", "#1 [[slow:3]] Hello")
    assert len(turns["interactions"]) == 1


@pytest.mark.req("M10", "M11")
async def test_agents_that_call_each_other_in_a_circle_end_with_an_error(tmp_path: Path) -> None:
    async with (
        model_server() as url,
        live_gateway(home_at(tmp_path / "home"), with_model(url)) as live,
    ):
        key = (await control(live, "POST", "/control/keys", user="here"))["secret"]
        await control(live, "PUT", "/settings/secrets", key="OWN_KEY", value=key)
        main = f"{live.url}/workspaces/main"
        named = {"name": "far", "secret": "OWN_KEY"}
        await control(live, "POST", "/control/remote-agents", url=main, **named)
        await prepared(live, "far")
        adapter = {"url": f"{live.url}/workspaces/far", "secret": "OWN_KEY"}
        itself = f"adapter={json.dumps(adapter)}"
        edited = await run_command(live.home, "agents", "edit", "far", "--set", itself)
        assert edited.returncode == 0, edited.stderr
        await prepared(live, "far")
        answer = await say(live, "far", "round and round")
        turns = await control(live, "GET", "/control/interactions?limit=100")

    assert answer["outcome"] == "failed"
    assert "in a circle" in answer["reply"]
    assert len(turns["interactions"]) == 5


async def begun(live: Live) -> None:
    """Wait until a turn runs."""
    async with asyncio.timeout(30):
        while True:
            if (await control(live, "GET", "/control/status"))["running_turns"]:
                break
            await asyncio.sleep(0.05)
    # Its first event is on the way to whoever asked.
    await asyncio.sleep(0.5)


# Any: JSON.
async def ended(live: Live, message_id: str) -> Any:
    """Return a message once it has ended."""
    async with asyncio.timeout(40):
        while True:
            found = await control(live, "GET", f"/api/messages/{message_id}")
            if found["state"] == "done":
                return found
            await asyncio.sleep(0.1)


GOOD = {
    "name": "Weather",
    "description": "Knows the weather.",
    "version": "1",
    "capabilities": {},
    "defaultInputModes": ["text"],
    "defaultOutputModes": ["text"],
    "skills": [],
}
NESTED: Any = {"a": 1}
for _ in range(50):
    NESTED = {"a": NESTED}


# Any: JSON.
def interface(url: str, **more: Any) -> list[Any]:
    return [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0", **more}]


@asynccontextmanager
async def card_server(reached: list[str]) -> AsyncIterator[str]:
    """Serve a card of each kind below `/NAME`; note what is called at another address."""

    async def card(request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        base = f"http://{request.host}"
        cards: dict[str, Any] = {
            "other-host": {**GOOD, "supportedInterfaces": interface("http://127.0.0.2:9/a2a")},
            "other-port": {**GOOD, "supportedInterfaces": interface("http://127.0.0.1:9/a2a")},
            "no-address": {**GOOD, "supportedInterfaces": interface("file:///etc/passwd")},
            "grpc": {**GOOD, "supportedInterfaces": interface(base, protocolBinding="GRPC")},
            "nested": {**GOOD, "url": base, "x": NESTED},
            "types": {**GOOD, "url": base, "skills": 3, "capabilities": "yes"},
            "nameless": {**GOOD, "name": "", "url": base},
            "list": [GOOD],
            "many": {**GOOD, "url": base, "x": [1] * 20_000},
        }
        if name == "huge":
            return web.Response(body=b'{"name": "' + b"x" * 400_000 + b'"}')
        if name == "html":
            return web.Response(text="<html>", content_type="text/html")
        if name == "locked":
            return web.Response(status=401)
        if name == "redirect":
            raise web.HTTPFound(f"http://127.0.0.2:{request.url.port}/secret")
        if name in cards:
            return web.json_response(cards[name])
        return web.Response(status=404)

    async def secret(request: web.Request) -> web.Response:
        reached.append(str(request.url))
        return web.json_response(GOOD)

    app = web.Application()
    app.router.add_get("/{name}/.well-known/agent-card.json", card)
    app.router.add_get("/secret", secret)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "0.0.0.0", 0)
    await site.start()
    server = site._server
    assert isinstance(server, asyncio.Server)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        await runner.cleanup()


LIES = {
    "other-host": "nothing is sent there",
    "other-port": "nothing is sent there",
    "no-address": "nothing is sent there",
    "grpc": "does not speak JSON-RPC",
    "nested": "nested more than 30 levels",
    "types": "is no agent card",
    "nameless": "has no name",
    "list": "is no agent card",
    "many": "more than 10,000 values",
    "huge": "exceeds 262144 bytes",
    "html": "is no agent card",
    "locked": "only with a key",
    "redirect": "may not be fetched",
    "missing": "there is no agent card",
}


@pytest.mark.req("M10", "W34")
async def test_a_card_that_lies_is_a_clear_error(tmp_path: Path) -> None:
    reached: list[str] = []
    async with (
        card_server(reached) as url,
        live_gateway(home_at(tmp_path / "home")) as live,
    ):
        answers = {
            name: await control(live, "POST", "/control/remote-agents", url=f"{url}/{name}")
            for name in LIES
        }
        private = await control(
            live, "POST", "/control/remote-agents", url=url.replace("127.0.0.1", "127.0.0.3")
        )
        agents = await control(live, "GET", "/workspaces")

    found = {name: said in json.dumps(answers[name]) for name, said in LIES.items()}
    assert found == dict.fromkeys(LIES, True), answers
    assert {one["error"]["code"] for one in answers.values()} == {"bad_request"}
    assert "net.exempt" in json.dumps(private)
    assert reached == []
    assert [one["name"] for one in agents["workspaces"]] == ["main"]
