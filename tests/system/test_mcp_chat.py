"""MCP in the chat: a real server's questions, its progress, and `/reload-mcp`, through a whole gateway."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.real_mcp import EVERYTHING, end, everything, free_port, need, time_server, until

ASK = "[[tool:mcp_every_trigger-elicitation-request]] please"
SECRET = "canary-of-the-reload-0123456789"


ADMINS = {"platforms": {"rest": {"commands": {"dm": {"admins": ["ann"]}}}}}


def configure(home: Path, servers: Mapping[str, Any], **more: Any) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    # JSON is YAML.
    (home / "config.yaml").write_text(
        json.dumps({"mcp": {"servers": servers, "start_wait_s": 60, **more}, "access": ADMINS})
    )


class Chat:
    """Somebody who writes over REST; every message has an id of its own."""

    def __init__(self, live: Live, session: aiohttp.ClientSession) -> None:
        self.live = live
        self._session = session
        self._number = 0

    async def say(self, text: str, *, name: str | None = None) -> dict[str, Any]:
        self._number += 1
        return await self.live.post(
            self._session, sender="ann", text=text, id=name or f"m{self._number}"
        )

    async def events(self, text: str, *, name: str) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        headers = {**self.live.bearer, "accept": "text/event-stream"}
        body = {"sender": "ann", "text": text, "id": name}
        async with self._session.post(
            f"{self.live.url}/api/messages", json=body, headers=headers
        ) as answer:
            kind = ""
            async for raw in answer.content:
                line = raw.decode().rstrip("\n")
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: "):
                    yield kind, json.loads(line[6:])

    async def has_tool(self, name: str) -> None:
        """Wait for a tool that the server lists only after its greeting."""

        async def is_there() -> bool:
            headers = {"authorization": f"Bearer {self.live.token}"}
            async with self._session.get(f"{self.live.url}/control/mcp", headers=headers) as got:
                return name in await got.text()

        await until(is_there)


@asynccontextmanager
async def chatting(home: Path) -> AsyncIterator[Chat]:
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession() as session,
    ):
        yield Chat(live, session)


@asynccontextmanager
async def everything_over(way: str) -> AsyncIterator[dict[str, Any]]:
    """Give the settings of the server that has everything, over pipes or HTTP."""
    need(EVERYTHING)
    if way == "stdio":
        yield {"command": str(EVERYTHING), "args": ["stdio"]}
        return
    port = free_port()
    process = await everything("streamableHttp", port)
    try:
        yield {"url": f"http://127.0.0.1:{port}/mcp"}
    finally:
        await end(process)


@pytest.mark.req("W37", "J9")
@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_a_real_servers_question_is_answered_in_the_chat(tmp_path: Path, way: str) -> None:
    async with everything_over(way) as server:
        configure(tmp_path / "home", {"every": server})
        async with chatting(tmp_path / "home") as chat:
            await chat.has_tool("mcp_every_trigger-elicitation-request")
            # given a message whose tool asks: the caller gets the question
            asked = await chat.say(ASK, name="trip")
            assert (asked["state"], asked["outcome"]) == ("running", None)
            assert asked["reply"].startswith("The tool server every asks:\nPlease provide inputs")
            assert asked["question"].startswith("q_")
            # when it is answered, field by field, with one that does not fit
            assert "check (yes or no)" in (await chat.say("Ada Lovelace"))["reply"]
            assert "does not fit" in (await chat.say("maybe"))["reply"]
            assert "firstLine" in (await chat.say("yes"))["reply"]
            assert "Thank you" in (await chat.say("done"))["reply"]
            # then the server has it, and the turn goes on
            ended = await chat.say(ASK, name="trip")
            assert "Name: Ada Lovelace" in ended["reply"]
            assert "Agreed to terms: true" in ended["reply"]

            # all at once, with titles for values, and declined
            await chat.say(ASK, name="again")
            lines = "name: Bob\ninteger: 7\ntitledSingleSelectEnum: wonder woman"
            assert "Thank you" in (await chat.say(lines))["reply"]
            assert '"hero-3"' in (await chat.say(ASK, name="again"))["reply"].replace("\\", "")
            await chat.say(ASK, name="no")
            assert "decline" in (await chat.say("/deny"))["reply"]
            assert "declined to provide" in (await chat.say(ASK, name="no"))["reply"]


@pytest.mark.req("W37")
async def test_an_address_is_shown_and_not_opened(tmp_path: Path) -> None:
    opened: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append((await reader.readline()).decode())
        writer.close()

    site = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{site.sockets[0].getsockname()[1]}/sign-in?a=1"
    async with site, everything_over("stdio") as server:
        configure(tmp_path / "home", {"every": {**server, "approval": "never"}})
        async with chatting(tmp_path / "home") as chat:
            await chat.has_tool("mcp_every_trigger-url-elicitation")
            call = f"[[tool:mcp_every_trigger-url-elicitation {json.dumps({'url': url})}]] go"
            asked = await chat.say(call, name="site")
            assert f"It wants you to open this address:\n{url}\nAnswer yes or no." in asked["reply"]
            assert "Thank you" in (await chat.say("yes"))["reply"]
            assert "accept" in (await chat.say(call, name="site"))["reply"].lower()
    assert opened == []


@pytest.mark.req("W37", "J8", "J9")
async def test_a_crash_while_a_question_waits_loses_the_tool_and_nothing_else(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with everything_over("stdio") as server:
        configure(home, {"every": server})
        async with chatting(home) as chat:
            await chat.has_tool("mcp_every_trigger-elicitation-request")
            asked = await chat.say(ASK, name="trip")
            assert asked["question"]
            await chat.live.stop(signal.SIGKILL)
        async with chatting(home) as chat:
            ended = await chat.say(ASK, name="trip")
            assert ended["outcome"] == "answered"
            assert "outcome unknown" in ended["reply"]
            late = await chat.say("Ada Lovelace", name="late")
            assert late["outcome"] == "answered"
            assert "closed" not in late["reply"]


@pytest.mark.req("W37")
async def test_progress_of_a_real_server_is_shown_and_stop_reaches_it(tmp_path: Path) -> None:
    async with everything_over("stdio") as server:
        configure(tmp_path / "home", {"every": server})
        async with chatting(tmp_path / "home") as chat:
            work = 'trigger-long-running-operation {"duration": 2, "steps": 2}'
            told = [
                item async for item in chat.events(f"[[tool:mcp_every_{work}]] go", name="work")
            ]
            statuses = [data["text"] for name, data in told if name == "status"]
            assert "1 of 2" in statuses
            assert "completed" in told[-1][1]["reply"]

            long = 'trigger-long-running-operation {"duration": 600, "steps": 600}'
            last: dict[str, Any] = {}
            async for name, data in chat.events(f"[[tool:mcp_every_{long}]] go", name="long"):
                if name == "status":
                    assert (await chat.say("/stop"))["reply"] == "Stopped."
                last = data
            assert last["outcome"] == "interrupted"
            # and the server is free for the next call at once
            free = await chat.say('[[tool:mcp_every_echo {"message": "free"}]] go')
            assert "Echo: free" in free["reply"]


@pytest.mark.req("W37", "W35")
async def test_reload_in_the_chat_asks_tells_the_diff_and_hides_new_secrets(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    configure(home, {"time": time_server()})
    async with chatting(home) as chat:
        first = await chat.say("tell me something about clocks")
        assert first["outcome"] == "answered"
        # when a server changes, the bare command only asks
        # (what one server keeps secret is told by another: only the logs know of both)
        gone = {"command": f"/nowhere/{SECRET}"}
        configure(home, {"late": {**time_server(), "env": {"KEY": SECRET}}, "gone": gone})
        asked = await chat.say("/reload-mcp")
        assert "/reload-mcp once" in asked["reply"]
        assert (await chat.say("/reload-mcp cancel"))["reply"] == "Nothing was changed."
        # once it is confirmed, the reply is the diff
        told = (await chat.say("/reload-mcp once"))["reply"]
        assert "New servers: late, gone." in told
        assert "Removed servers: time." in told
        assert "mcp_late_get_current_time" in told
        # and the next turn has the new tools
        used = await chat.say('[[tool:mcp_late_get_current_time {"timezone": "UTC"}]] go')
        assert '"timezone": "UTC"' in used["reply"]
        # always is not asked again, until it is taken back
        assert "nothing changed" in (await chat.say("/reload-mcp always"))["reply"]
        assert "nothing changed" in (await chat.say("/reload-mcp"))["reply"]
        assert "ask you again" in (await chat.say("/reload-mcp cancel"))["reply"]
        assert "/reload-mcp once" in (await chat.say("/reload-mcp"))["reply"]
        await chat.live.stop()
        logs = chat.live.said() + "".join(path.read_text() for path in (home / "logs").iterdir())
        assert "mcp_reloaded" in logs
        assert "cannot be started" in logs
        assert SECRET not in logs
