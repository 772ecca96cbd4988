"""Real MCP servers from the registries, over pipes and HTTP, alone and behind a whole gateway."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from hermes.config import McpSettings
from hermes.errors import ToolError
from hermes.ports.clock import SystemClock
from hermes.ports.tool import ToolContext
from hermes.tools.mcp.questions import Schema
from hermes.tools.mcp.servers import McpServers
from tests.system.live import (
    Live,
    live_gateway,
    model_server,
    run_command,
    with_model,
)
from tests.system.real_mcp import (
    EVERYTHING,
    end,
    everything,
    files_server,
    free_port,
    git_server,
    need,
    time_server,
    until,
)

ANN = "rest:ann"


class Person:
    """Keeps what is asked and declines."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(
        self, context: ToolContext, text: str, *, schema: Schema, within_s: float
    ) -> Mapping[str, Any] | None:
        self.asked.append(text)
        return None


@asynccontextmanager
async def a_client(servers: Mapping[str, Any], **given: Any) -> AsyncIterator[McpServers]:
    settings = McpSettings.model_validate({"servers": servers, "start_wait_s": 60})
    client = McpServers(settings, clock=SystemClock(), **given)
    await client.start()
    try:
        assert [server.problem for server in client.status().servers] == [None] * len(servers)
        yield client
    finally:
        await client.stop()


async def no_child(_text: str, _agent: str) -> str:
    raise AssertionError


async def run(client: McpServers, tool: str, **arguments: object) -> str:
    context = ToolContext(
        turn_id="m_1", ordinal=1, person_id="p_ann", lane="lane", run_child=no_child
    )
    return await client.tools()[tool].run(msgspec.Raw(json.dumps(arguments).encode()), context)


async def has_tool(client: McpServers, tool: str) -> None:
    """Wait until a tool is listed; some come only after the greeting."""
    async with asyncio.timeout(30):
        changed = asyncio.Event()
        client.on_change(lambda _diff: changed.set())
        while tool not in client.tools():
            await changed.wait()
            changed.clear()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "letter.txt").write_text("Dear reader")
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-C", str(folder)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "The first letter"]):
        subprocess.run([*git, *command], check=True, capture_output=True)
    return folder


@pytest.mark.req("W37")
async def test_four_real_servers_over_pipes_in_both_eras(repository: Path) -> None:
    need(EVERYTHING)
    servers = {
        "time": time_server(),
        "git": git_server(repository),
        "files": files_server(repository),
        "every": {"command": str(EVERYTHING), "args": ["stdio"]},
    }
    async with a_client(servers) as client:
        spoken = {server.name: server.protocol for server in client.status().servers}
        assert spoken["time"] == spoken["git"] == "2026-07-28"
        assert spoken["files"] == spoken["every"] == "2025-11-25"

        converted = await run(
            client,
            "mcp_time_convert_time",
            source_timezone="UTC",
            time="12:00",
            target_timezone="Asia/Tokyo",
        )
        assert "21:00" in converted
        path = str(repository)
        assert "The first letter" in await run(client, "mcp_git_git_log", repo_path=path)
        letter = str(repository / "letter.txt")
        assert await run(client, "mcp_files_read_text_file", path=letter) == "Dear reader"
        assert await run(client, "mcp_every_echo", message="hi") == "Echo: hi"
        picture = await run(client, "mcp_every_get-tiny-image")
        assert "[picture, image/png, 4,035 bytes; not shown]" in picture
        with pytest.raises(ToolError, match="outside allowed"):
            await run(client, "mcp_files_read_text_file", path="/etc/passwd")
        asks = [name for name, tool in client.tools().items() if tool.traits.needs_approval]
        assert "mcp_files_write_file" in asks
        assert "mcp_git_git_reset" in asks
        assert "mcp_files_read_text_file" not in asks


@pytest.mark.req("W37")
@pytest.mark.parametrize(("kind", "way"), [("streamableHttp", "http"), ("sse", "sse")])
async def test_a_real_server_over_http_dies_and_returns(kind: str, way: str) -> None:
    port = free_port()
    process = await everything(kind, port)
    place = {"url": f"http://127.0.0.1:{port}/{'mcp' if way == 'http' else 'sse'}"}
    person, told = Person(), list[str]()
    try:
        async with a_client(
            {"e": {**place, "transport": way}}, ask=person, tell=lambda _c, text: told.append(text)
        ) as client:
            # progress, and a tool that comes with a changed list and asks the person
            await run(client, "mcp_e_trigger-long-running-operation", duration=1, steps=2)
            assert told[0] == "1 of 2"
            await has_tool(client, "mcp_e_trigger-elicitation-request")
            assert "declined" in await run(client, "mcp_e_trigger-elicitation-request")
            assert person.asked[0].startswith("The tool server e asks:\n")
            # it dies in the middle of a call
            running = asyncio.create_task(
                run(client, "mcp_e_trigger-long-running-operation", duration=30, steps=3)
            )
            await asyncio.wait({running}, timeout=0.3)
            await end(process)
            with pytest.raises(ToolError, match="may or may not have taken effect"):
                await running
            # and returns
            process = await everything(kind, port)
            assert await run(client, "mcp_e_echo", message="again") == "Echo: again"
    finally:
        await end(process)


@pytest.mark.req("W37")
async def test_a_real_server_that_hangs_is_given_up_and_replaced() -> None:
    async with a_client({"time": {**time_server(), "timeout_s": 4}}) as client:
        [first] = _children("mcp-server-time")
        os.kill(first, signal.SIGSTOP)

        with pytest.raises(ToolError, match="gave no result within 4 s"):
            await run(client, "mcp_time_get_current_time", timezone="UTC")

        async def is_replaced() -> bool:
            return first not in _children("mcp-server-time")

        async def answers() -> bool:
            # The new one may take longer than its time limit to start on a busy machine.
            with suppress(ToolError):
                return "UTC" in await run(client, "mcp_time_get_current_time", timezone="UTC")
            return False

        await until(is_replaced)
        await until(answers)
        assert client.status().servers[0].problem is None


def _children(name: str) -> list[int]:
    """Return the programs of this process by a piece of their command."""
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in listed if name in Path(f"/proc/{pid}/cmdline").read_text()]


async def hermes(home: Path, *arguments: str, code: int = 0) -> str:
    done = await run_command(home, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def configure(home: Path, servers: Mapping[str, Any], **more: Any) -> None:
    # JSON is YAML.
    text = json.dumps({"mcp": {"servers": servers, "start_wait_s": 60, **more}})
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.yaml").write_text(text)


async def ask(live: Live, text: str, number: int) -> dict[str, Any]:
    async with aiohttp.ClientSession() as session:
        return await live.post(session, sender="ann", text=text, id=f"m{number}")


@pytest.mark.req("A15", "W37")
async def test_a_gateway_calls_real_servers_asks_first_and_reloads(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    folder.mkdir()
    configure(home, {"time": time_server()})
    write = {"path": str(folder / "note.txt"), "content": "from the model"}
    async with model_server() as url, live_gateway(home, with_model(url)) as live:
        # when the model calls a tool of a server, its answer reaches the reply
        first = await ask(live, '[[tool:mcp_time_get_current_time {"timezone": "UTC"}]]', 1)
        assert '"timezone": "UTC"' in first["reply"]
        assert "time    connected  stdio  2026-07-28" in await hermes(home, "mcp", "list")

        # when the configuration gets another server, a reload brings its tools without a restart
        configure(home, {"time": time_server(), "files": files_server(folder)})
        told = await hermes(home, "mcp", "reload")
        assert "New servers: files." in told
        assert "mcp_files_write_file" in told
        assert "nothing changed" in await hermes(home, "mcp", "reload")

        # when a tool may destroy something, it waits for a yes
        parked = await ask(live, f"[[tool:mcp_files_write_file {json.dumps(write)}]]", 2)
        assert not (folder / "note.txt").exists()
        assert "mcp_files_write_file" in json.dumps(parked)
        await ask(live, "/approve", 3)

        async def is_written() -> bool:
            note = folder / "note.txt"
            return note.exists() and note.read_text() != ""

        await until(is_written)
        assert (folder / "note.txt").read_text() == "from the model"

        # when a platform lists no server, its models are offered none of their tools
        configure(home, {"time": time_server()}, platforms={"rest": ["no_mcp"]})
        assert "Removed servers: files." in await hermes(home, "mcp", "reload")
        refused = await ask(live, '[[tool:mcp_time_get_current_time {"timezone": "UTC"}]]', 4)
        assert '"timezone": "UTC"' not in refused["reply"].split("->")[-1]

        # when the file is wrong, nothing changes
        configure(home, {"time": {"command": "x", "url": "http://127.0.0.1:1/"}})
        assert "Nothing was changed" in await hermes(home, "mcp", "reload", code=1)
        assert "time    connected" in await hermes(home, "mcp", "list")
        assert await live.stop() == 75


@pytest.mark.req("W35", "W37")
async def test_the_commands_work_without_a_gateway_and_show_no_secret(tmp_path: Path) -> None:
    home = tmp_path / "home"
    secret = "canary-0123456789"
    gone = {"command": "/nowhere", "env": {"KEY": secret}}
    configure(home, {"time": {**time_server(), "env": {"KEY": secret}}, "gone": gone})

    listed = await hermes(home, "mcp", "list", "--json")
    tested = await hermes(home, "mcp", "test", "time")
    failed = await hermes(home, "mcp", "test", code=1)
    unknown = await hermes(home, "mcp", "test", "tme", code=2)
    nobody = await hermes(home, "mcp", "reload", code=1)

    states = [(server["name"], server["state"]) for server in json.loads(listed)["servers"]]
    assert states == [("time", "connected"), ("gone", "waiting")]
    assert "mcp_time_get_current_time" in tested
    assert "'/nowhere' cannot be started" in failed
    assert "configured: time, gone" in " ".join(unknown.split())
    assert "No gateway runs" in nobody
    logs = "".join(path.read_text() for path in (home / "logs").iterdir())
    assert secret not in listed + tested + failed + logs
