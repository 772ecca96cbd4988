"""The terminal as a person uses it: short ids, tables, chat with its options, completion of ids."""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import Live, environment, live_gateway, model_server, run_command, with_model
from tests.unit.cli.terminal import Terminal

SLOW_MS = "1500"
AGENTS = "agents:\n  main: {}\n  work:\n    name: Worker\n"


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(AGENTS)
    async with (
        model_server("--delay-ms", SLOW_MS) as url,
        live_gateway(home, with_model(url)) as running,
    ):
        yield running


@pytest.fixture
def chat(live: Live) -> Iterator[Terminal]:
    command = [sys.executable, "-m", "hermes", "chat"]
    terminal = Terminal(command, environment(live.home))
    terminal.wait_for("› ")
    yield terminal
    terminal.close()


async def hermes(live: Live, *arguments: str, code: int = 0) -> str:
    done = await run_command(live.home, *arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr if code else done.stdout


async def said(live: Live, text: str) -> str:
    """Send a message through REST; return its id."""
    async with aiohttp.ClientSession() as session:
        answer = await live.post(session, sender="ann", text=text, conversation="c")
    return str(answer["id"])


@pytest.mark.req("W7")
async def test_an_id_from_a_table_can_be_shortened(live: Live) -> None:
    first, second = await said(live, "one"), await said(live, "two")

    table = await hermes(live, "interactions")
    explained = json.loads(await hermes(live, "why", first[-6:], "--json"))
    several = await hermes(live, "why", "m_06", code=1)
    person = json.loads(await hermes(live, "users", "--json"))["users"][0]["id"]
    shown = json.loads(await hermes(live, "users", "show", person[-6:], "--json"))

    assert first in table
    assert second in table
    assert explained["id"] == first
    assert first in several
    assert second in several
    assert shown["user"]["id"] == person


@pytest.mark.req("W8")
async def test_a_shell_is_offered_the_ids_of_the_gateway(live: Live) -> None:
    message = await said(live, "one")
    asked = {"_HERMES_COMPLETE": "complete_bash", "COMP_CWORD": "2"}

    async def offered(line: str) -> list[str]:
        done = await run_command(live.home, more={**asked, "COMP_WORDS": line})
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    assert await offered("hermes why m_") == [message]
    assert await offered(f"hermes why {message[-5:]}") == [message]
    await hermes(live, "stop")
    assert await offered("hermes why m_") == []


@pytest.mark.req("W7", "A22")
async def test_chat_takes_an_agent_a_model_and_a_file(live: Live, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("the blue door\n")
    options = ("--agent", "work", "--model", "openai:other", "--file", str(file))

    told = json.loads(await hermes(live, "chat", "--json", *options, "--message", "What is here?"))
    turn = json.loads(await hermes(live, "interactions", "--limit", "1", "--json"))
    unknown = await hermes(live, "chat", "--agent", "nobody", "--message", "hi", code=1)

    assert "the blue door" in told["reply"]
    assert told["model"] == "openai:other"
    assert turn["interactions"][0]["agent"] == "work"
    assert "nobody" in unknown


@pytest.mark.req("W18")
async def test_what_is_typed_while_it_thinks_waits_for_the_prompt(chat: Terminal) -> None:
    chat.type("one\n")
    chat.wait_for("thinking")
    chat.type("typed meanwhile")

    between = chat.wait_for("tokens in")
    chat.wait_for("› typed meanwhile")

    assert "typed meanwhile" not in between


@pytest.mark.req("W18")
async def test_help_is_a_list_on_the_terminal(chat: Terminal) -> None:
    chat.type("/help\n")

    shown = chat.wait_for("no cost")

    lines = [line.strip() for line in shown.splitlines()]
    assert any(line.startswith("• /stop: ") for line in lines), shown
    assert sum(line.startswith("• /") for line in lines) > 10


@pytest.mark.req("W7")
async def test_a_table_on_a_terminal_has_whole_ids_on_one_line_and_relative_times(
    live: Live,
) -> None:
    message = await said(live, "one")
    terminal = Terminal([sys.executable, "-m", "hermes", "interactions"], environment(live.home))

    code = terminal.end()

    terminal.close()
    row = next(line for line in terminal.plain().splitlines() if message in line)
    assert (code, len(row.rstrip()) <= 80) == (0, True)
    assert row.startswith(("now ", *(f"{seconds} s ago" for seconds in range(60))))
    assert "No room for: " in terminal.plain()
