"""Claude Code and Codex themselves as the adapters of an agent: in the sandbox, on models of the gateway."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hermes.tools.terminal.sandbox import missing_tools
from tests.system.live import live_gateway, model_server, run_command, with_model
from tests.system.program_parts import Desk, costs_of, write_home
from tests.system.real_agents import CLAUDE, CODEX, need

pytestmark = [
    pytest.mark.req("A25"),
    pytest.mark.skipif(bool(missing_tools()), reason="bubblewrap is not installed"),
]
WRITES = {"command": "echo kept > made.txt", "description": "write a file"}
CASES = [
    pytest.param("claude_local", f"[[tool:Bash {json.dumps(WRITES)}]] now", id="claude"),
    pytest.param(
        "codex_local", '[[tool:exec_command {"cmd": "echo kept > made.txt"}]] now', id="codex"
    ),
]


@asynccontextmanager
async def desk_of(tmp_path: Path, name: str) -> AsyncIterator[Desk]:
    program = need(CLAUDE if name == "claude_local" else CODEX)
    more: dict[str, Any] = {name: {"program": program, "timeout_s": 120}}
    home = write_home(tmp_path / "home", more=more)
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession() as session,
    ):
        desk = Desk(live, session)
        assert await desk.make(name) == "ready"
        yield desk


@pytest.mark.parametrize(("name", "wish"), CASES)
async def test_it_answers_asks_and_goes_on_in_its_session(
    tmp_path: Path, name: str, wish: str
) -> None:
    async with desk_of(tmp_path, name) as desk:
        plain = await desk.say("hello there")
        asked = await desk.say(wish)
        await desk.say("/approve")
        done = await desk.reply(asked["id"])
        costs = await costs_of(desk.live.home, "agent")
        (made,) = desk.live.home.glob("workdirs/p_*/*/files/made.txt")

        assert (plain["outcome"], plain["reply"].endswith("hello there")) == ("answered", True)
        assert plain["tokens_in"] > 0
        assert f"coder ({name}) wants to do this:" in asked["reply"]
        assert "echo kept > made.txt" in asked["reply"]
        assert done["outcome"] == "answered"
        assert made.read_text() == "kept\n"
        # In its own session it sees what was said before.
        assert int(done["reply"].split()[0].removeprefix("#")) > int(
            plain["reply"].split()[0].removeprefix("#")
        )
        assert "w_" in costs


@pytest.mark.parametrize(("name", "wish"), CASES)
async def test_what_the_person_denies_is_not_done(tmp_path: Path, name: str, wish: str) -> None:
    async with desk_of(tmp_path, name) as desk:
        asked = await desk.say(wish)
        await desk.say("/deny")
        done = await desk.reply(asked["id"])

        assert done["outcome"] in ("answered", "failed")
        assert not list(desk.live.home.glob("workdirs/p_*/*/files/made.txt"))


@pytest.mark.parametrize(("name", "wish"), CASES)
async def test_it_is_swapped_while_the_gateway_runs(tmp_path: Path, name: str, wish: str) -> None:
    async with desk_of(tmp_path, name) as desk:
        swapped = await run_command(desk.live.home, "agents", "swap", "coder", "one")
        before = await desk.say("hello")
        back = await run_command(desk.live.home, "agents", "swap", "coder", name, "--preserve-cwd")
        after = await desk.say("hello there")

        assert (swapped.returncode, back.returncode) == (0, 0), swapped.stderr + back.stderr
        assert before["model"] == "one:script-1"
        assert str(after["model"]).startswith(f"{name}:")
