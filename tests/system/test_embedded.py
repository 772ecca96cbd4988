"""A gateway inside a program: its replies, its tools, its crashes, and what it leaves alone."""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes import Hermes, HermesPiece
from hermes.errors import AlreadyRunning, ConfigurationError, HermesError, Refused
from hermes.message.outcome import Outcome
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from hermes.testing.model_server import ModelServer
from tests.system.live import environment, model_server, run_command, with_model

CALL = '[[tool:in_stock {"item":"eggs"}]] please'
PROGRAM = """
import asyncio, os, sys
from hermes import Hermes

async def main():
    async with Hermes(sys.argv[1]) as h:
        task = asyncio.create_task(h.send("[[slow:3]] hello", id="cut"))
        while not (await asyncio.sleep(0.5)) and not task.done():
            print("sent", flush=True)

asyncio.run(main())
"""


def in_stock(item: str) -> str:
    """Tell how many pieces of something are in stock."""
    return f"{item}: 12"


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    async with model_server() as url:
        for name, value in with_model(url).items():
            monkeypatch.setenv(name, value)
        yield url


@pytest.mark.req("M12")
async def test_a_program_sends_streams_and_gives_tools(model: str, tmp_path: Path) -> None:
    assert model
    config = {"agents": {"main": {"name": "Shop"}, "other": {"name": "Other"}}}
    async with Hermes(tmp_path / "home", config=config, tools=[in_stock]) as h:
        first = await h.send("hello")
        second = await h.send("hello again")
        other = await h.send("hello", agent="other")
        apart = await h.send("hello", conversation="elsewhere")
        theirs = await h.send("hello", sender="bob")
        pieces = [piece async for piece in h.stream(CALL, conversation="tools")]
        unknown = await h.send("/nonsense")
        with pytest.raises(Refused, match="no agent"):
            await h.send("hello", agent="nobody")

    replies = [str(one) for one in (first, second, other, apart, theirs)]
    assert replies == ["#1 hello", "#2 hello again", "#1 hello", "#1 hello", "#1 hello"]
    assert (first.outcome, first.model) == (Outcome.ANSWERED, "openai:gpt-4o-mini")
    assert pieces[0] == HermesPiece(kind="tool", text="in_stock")
    assert [piece.kind for piece in pieces[-2:]] == ["text", "done"]
    assert pieces[-1].reply is not None
    assert pieces[-1].reply.tools == ("in_stock",)
    assert pieces[-1].text.endswith("eggs: 12")
    assert unknown.outcome is Outcome.REFUSED


@pytest.mark.req("M12", "J8")
async def test_a_message_with_the_same_id_is_sent_once_also_by_the_next_run(
    model: str, tmp_path: Path
) -> None:
    assert model
    async with Hermes(tmp_path / "home") as h:
        first = await h.send("hello", id="one")
    async with Hermes(tmp_path / "home") as h:
        again = await h.send("hello", id="one")
        following = await h.send("hello")
    story = await run_command(tmp_path / "home", "why", first.id)

    assert (again.id, str(again)) == (first.id, "#1 hello")
    assert str(following) == "#2 hello"
    assert "answered" in story.stdout


@pytest.mark.req("M12", "J8")
async def test_what_a_killed_program_left_is_finished_by_the_next_run(
    model: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, str(home)),
        env=environment(home, with_model(model)),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    await process.stdout.readline()
    process.kill()
    await process.wait()
    async with Hermes(home) as h:
        reply = await h.send("[[slow:3]] hello", id="cut")

    assert reply.outcome is Outcome.ANSWERED
    assert reply.text == "#1 [[slow:3]] hello"


@pytest.mark.req("M12")
async def test_whoever_stops_waiting_does_not_stop_the_turn(model: str, tmp_path: Path) -> None:
    assert model
    async with Hermes(tmp_path / "home") as h:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await h.send("[[slow:2]] hello", id="slow")
        reply = await h.send("[[slow:2]] hello", id="slow")

    assert reply.outcome is Outcome.ANSWERED


@pytest.mark.req("M12")
async def test_a_home_has_one_gateway_and_an_embedded_one_ends_with_its_block(
    model: str, tmp_path: Path
) -> None:
    assert model
    h = Hermes(tmp_path / "home")
    with pytest.raises(HermesError, match="async with"):
        await h.send("too early")
    async with h:
        with pytest.raises(AlreadyRunning):
            async with Hermes(tmp_path / "home"):
                pass
    with pytest.raises(HermesError, match="async with"):
        await h.send("too late")
    async with h:
        assert str(await h.send("hello")) == "#1 hello"


@pytest.mark.req("M12")
async def test_a_bad_configuration_and_a_bad_tool_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="agents"):
        async with Hermes(tmp_path / "home", config={"agents": {"main": {"nme": "x"}}}):
            pass
    with pytest.raises(ConfigurationError):
        Hermes(tmp_path / "home", tools=[lambda item: item])


@pytest.mark.req("M12")
async def test_the_logging_of_the_program_stays_as_it_is(model: str, tmp_path: Path) -> None:
    assert model
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    async with Hermes(tmp_path / "home") as h:
        await h.send("hello")
        during = (list(root.handlers), root.level)

    assert before == during


LOGGING = """
import asyncio, sys, structlog
from hermes import Hermes

async def main():
    first, second = sys.argv[1:]
    for word in ("once", "again"):
        async with Hermes(first, config={"logs": {"file": "own.log"}}):
            structlog.get_logger().info("said", word=word)
    async with Hermes(first, config={"logs": {"file": "own.log"}}):
        async with Hermes(second, config={"providers": {"openai": {"api_key": "tulips-of-the-second"}}}):
            structlog.get_logger().info("said", word="key tulips-of-the-second")
        structlog.get_logger().info("said", word="to the end")

asyncio.run(main())
"""


@pytest.mark.req("M12")
async def test_every_run_is_logged_and_no_gateway_logs_the_secrets_of_another(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    command = (sys.executable, "-c", LOGGING, str(first), str(second))
    process = await asyncio.create_subprocess_exec(*command, env=environment(first, {}))
    assert await process.wait() == 0

    lines = [json.loads(line) for line in (first / "own.log").read_text().splitlines()]
    words = [line["word"] for line in lines if line["event"] == "said"]
    assert words == ["once", "again", "key ****", "to the end"]


@pytest.mark.req("M12", "P7")
async def test_importing_hermes_imports_nothing_of_it(tmp_path: Path) -> None:
    looks = (
        "import sys, hermes; print(sorted(name for name in sys.modules if name.startswith('hermes')));"
        "print(hermes.__version__); from hermes import Hermes; print(Hermes.__module__)"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", looks),
        env=environment(tmp_path),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate()

    assert said.decode().splitlines() == [
        "['hermes', 'hermes.lazy']",
        "0.1.0",
        "hermes.app.library",
    ]


@pytest.mark.req("M12", "M6")
async def test_a_single_agent_with_blocks_tools_and_a_response_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
    }
    agent = {"system_blocks": ["You count.", "Be brief."], "response_schema": schema}

    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        is_first = not seen.tool_results
        use = ToolUse("in_stock", '{"item":"eggs"}')
        return ScriptedTurn(tools=(use,)) if is_first else ScriptedTurn(text='{"count": 12}')

    async with ModelServer(script) as server:
        for name, value in with_model(server.base_url).items():
            monkeypatch.setenv(name, value)
        async with Hermes(tmp_path, config={"agents": {"main": agent}}, tools=[in_stock]) as h:
            reply = await h.send("how many eggs?")

    assert json.loads(reply.text) == {"count": 12}
    assert reply.tools == ("in_stock",)
