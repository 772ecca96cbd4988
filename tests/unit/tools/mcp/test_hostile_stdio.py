"""Real processes that misbehave: each costs its own call or its own connection, nothing else."""

import asyncio
import json
import os
import sys
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
from hermes.tools.mcp.report import ServerStatus
from hermes.tools.mcp.servers import McpServers
from tests.unit.tools.mcp.twin_link import context_of

SCRIPT = str(Path(__file__).with_name("raw_server.py"))


@asynccontextmanager
async def a_client(mode: str = "", **given: Any) -> AsyncIterator[McpServers]:
    asks = {name: given.pop(name) for name in ("ask", "tell") if name in given}
    server = {"command": sys.executable, "args": ["-I", SCRIPT, mode], **given}
    settings = McpSettings.model_validate({"servers": {"s": server}, "start_wait_s": 20})
    client = McpServers(settings, clock=SystemClock(), **asks)
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


async def run(client: McpServers, name: str, context: ToolContext | None = None) -> str:
    tool = client.tools()[f"mcp_s_{name}"]
    return await tool.run(msgspec.Raw(b"{}"), context or context_of())


async def failure(client: McpServers, name: str) -> str:
    with pytest.raises(ToolError) as caught:
        await run(client, name)
    return str(caught.value)


def status(client: McpServers) -> ServerStatus:
    return client.status().servers[0]


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.req("W37")
async def test_an_old_server_is_spoken_to_and_its_words_are_cleaned() -> None:
    async with a_client() as client:
        assert (status(client).protocol, status(client).title) == ("2025-06-18", "raw 1")
        assert await run(client, "echo") == "hello"
        assert await failure(client, "odd") == "a[2Jb"
        assert await failure(client, "error") == "the tool server s answered: no! (code -32000)"
        assert not client.tools()["mcp_s_echo"].traits.needs_approval
        assert client.tools()["mcp_s_hang"].traits.needs_approval


@pytest.mark.req("W37")
async def test_a_hundred_megabytes_end_the_connection_and_not_the_gateway() -> None:
    async with a_client(max_message_bytes=1_000_000) as client:
        before = _memory_mb()

        assert "ended before it answered" in await failure(client, "huge")

        assert status(client).problem == "it sent a message of more than 1000000 bytes"
        assert _memory_mb() - before < 40
        assert await run(client, "echo") == "hello"


@pytest.mark.req("W37")
async def test_a_server_that_writes_nonsense_is_left() -> None:
    async with a_client() as client:
        await failure(client, "noise")

        assert status(client).problem == "it wrote 200 lines in a row that are not messages"
        assert await run(client, "echo") == "hello"


@pytest.mark.req("W37")
async def test_an_answer_of_the_wrong_shape_costs_only_its_call() -> None:
    async with a_client() as client:
        assert await failure(client, "wrong") == (
            "the tool server s answered: its answer does not follow the protocol"
        )
        assert await run(client, "echo") == "hello"
        assert status(client).state == "connected"


@pytest.mark.req("W37")
async def test_a_flood_is_read_slowly_and_its_answer_arrives() -> None:
    told: list[str] = []
    async with a_client(tell=lambda _context, text: told.append(text)) as client:
        began = asyncio.get_running_loop().time()

        assert await run(client, "flood") == "flooded"

        # 2,000 messages at 500 a second, after a burst of 1,000
        assert asyncio.get_running_loop().time() - began > 1.5
        assert 1 <= len(told) <= 6


@pytest.mark.req("W37")
async def test_a_server_that_dies_in_a_call_returns_for_the_next() -> None:
    async with a_client() as client:
        assert "may or may not have taken effect" in await failure(client, "die")
        assert "ended" in (status(client).problem or "")

        assert await run(client, "echo") == "hello"


@pytest.mark.req("W37")
async def test_the_last_words_of_a_program_are_kept() -> None:
    async with a_client() as client:
        await failure(client, "stderr")

        assert await run(client, "echo") == "hello"
    async with a_client(command="/bin/sh", args=["-c", "echo no key >&2; exit 4"]) as client:
        assert status(client).problem == "the program ended with code 4 (no key)"


@pytest.mark.req("W37")
async def test_a_call_that_hangs_is_given_up_and_the_server_is_told() -> None:
    async with a_client(tool_timeouts_s={"hang": 0.2}) as client:
        assert "gave no result within 0.2 s" in await failure(client, "hang")

        [number] = json.loads(await run(client, "was_cancelled"))

        assert isinstance(number, int)
        assert status(client).state == "connected"


@pytest.mark.req("W37")
async def test_who_stops_a_turn_cancels_the_call_at_the_server() -> None:
    async with a_client() as client:
        running = asyncio.create_task(run(client, "hang"))
        await asyncio.wait({running}, timeout=0.1)
        running.cancel()
        await asyncio.wait({running})

        assert running.cancelled()
        assert len(json.loads(await run(client, "was_cancelled"))) == 1


@pytest.mark.req("W35", "W37")
async def test_a_secret_is_given_to_the_program_and_does_not_come_back() -> None:
    async with a_client(env={"KEY": "canary-0123456789"}) as client:
        assert await run(client, "leak") == "the key is ****"


@pytest.mark.req("W35", "W37")
@pytest.mark.parametrize("before", [0, 290, 700, 5_000])
async def test_last_words_that_are_cut_show_no_half_of_a_secret(before: int) -> None:
    shout = f'printf "%0{before}d $KEY $KEY" 1 >&2; echo >&2; exit 4'
    env = {"KEY": "canary-0123456789"}
    async with a_client(command="/bin/sh", args=["-c", shout], env=env) as client:
        problem = status(client).problem or ""

    assert "code 4" in problem
    assert "canary" not in problem
    assert "6789" not in problem


@pytest.mark.req("W35", "W37")
async def test_the_gateways_own_environment_is_not_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KEY", "canary-of-the-gateway")
    async with a_client() as client:
        assert await run(client, "leak") == "the key is None"


class Person:
    """Answers every question with a name."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def __call__(
        self, context: ToolContext, text: str, *, schema: Schema, within_s: float
    ) -> Mapping[str, Any] | None:
        self.asked.append((context.person_id, text))
        return {"name": "Ada"}


@pytest.mark.req("W37")
async def test_a_question_of_the_old_era_reaches_the_person_and_its_answer_the_server() -> None:
    person = Person()
    async with a_client(ask=person) as client:
        answer = json.loads(await run(client, "ask", context_of("p_ada")))

    assert answer == {"action": "accept", "content": {"name": "Ada"}}
    asked = "The tool server s asks:\nWho are you?\n- name (text)"
    assert person.asked == [("p_ada", asked)]


@pytest.mark.req("W37")
async def test_without_a_way_to_ask_the_server_is_told_declined() -> None:
    async with a_client() as client:
        assert json.loads(await run(client, "ask")) == {"action": "decline"}


@pytest.mark.req("W37")
async def test_a_question_that_could_be_two_peoples_is_nobodys() -> None:
    person = Person()
    async with a_client(ask=person, parallel=True) as client:
        other = asyncio.create_task(run(client, "hang", context_of("p_bob", lane="lane-2")))
        await asyncio.wait({other}, timeout=0.1)

        assert json.loads(await run(client, "ask", context_of("p_ada"))) == {"action": "decline"}

        other.cancel()
        await asyncio.wait({other})
    assert person.asked == []


@pytest.mark.req("W37")
async def test_a_list_that_grows_is_followed() -> None:
    async with a_client() as client:
        grown = asyncio.Event()
        client.on_change(lambda _diff: grown.set())

        assert await run(client, "grow") == "grown"
        await asyncio.wait_for(grown.wait(), 10)

        assert [name for name in client.tools() if name.startswith("mcp_s_grown")] != []


@pytest.mark.req("W37")
async def test_everything_a_program_started_ends_with_it() -> None:
    async with a_client() as client:
        pids = [int(pid) for pid in (await run(client, "breed")).split()]
        assert [is_alive(pid) for pid in pids] == [True, True]

    assert [is_alive(pid) for pid in pids] == [False, False]


@pytest.mark.req("W37")
async def test_thousands_of_tools_in_endless_pages_are_cut() -> None:
    async with a_client("thousands", max_tools=50) as client:
        assert len(client.tools()) == 50
        assert status(client).notes == ("4950 more tools are left out, because max_tools is 50",)


@pytest.mark.req("W37")
@pytest.mark.parametrize(
    ("mode", "problem"),
    [
        ("silent", "no answer in time"),
        ("nonsense", "it does not list its tools: its answer does not follow the protocol"),
    ],
)
async def test_a_server_that_never_gets_going_is_reported(mode: str, problem: str) -> None:
    async with a_client(mode, connect_timeout_s=1) as client:
        assert (status(client).problem or "").startswith(problem)
        assert len(client.tools()) == 0


@pytest.mark.req("W37")
async def test_a_server_that_a_new_question_kills_is_greeted_the_old_way_next_time() -> None:
    connected = asyncio.Event()
    async with a_client("picky") as client:
        client.on_change(lambda _diff: connected.set())
        assert "ended with code 9" in (status(client).problem or "")

        await asyncio.wait_for(connected.wait(), 10)

        assert await run(client, "echo") == "hello"


@pytest.mark.req("W37")
async def test_a_banner_on_standard_output_does_no_harm() -> None:
    async with a_client("late") as client:
        assert await run(client, "echo") == "hello"


@pytest.mark.req("W37")
async def test_a_program_that_is_not_there_is_named() -> None:
    async with a_client(command="/nowhere/to/be/found") as client:
        assert status(client).problem == (
            "the program '/nowhere/to/be/found' cannot be started (No such file or directory); "
            "install it, or write its full path"
        )


def _memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
