"""A copy of a home is a home of its own: nothing that is ordered there reaches the gateway of the original."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import (
    Live,
    live_gateway,
    model_server,
    run_command,
    with_model,
)


@pytest.fixture
async def original(tmp_path: Path) -> AsyncIterator[Live]:
    async with model_server() as url, live_gateway(tmp_path / "home", with_model(url)) as live:
        async with aiohttp.ClientSession() as http:
            assert (await live.post(http, sender="ann", text="one"))["reply"] == "#1 one"
        shutil.copytree(live.home, tmp_path / "copy", symlinks=True)
        yield live


async def run(home: Path, *arguments: str) -> tuple[int | None, str]:
    """Run a command; returns its exit code and what it printed."""
    done = await run_command(home, *arguments)
    return done.returncode, done.stdout + done.stderr


async def asked(live: Live, http: aiohttp.ClientSession, path: str) -> dict[str, object]:
    async with http.get(f"{live.url}/control/{path}", headers=live.bearer) as answer:
        return dict(await answer.json())


@pytest.mark.req("W4", "J20")
async def test_orders_given_in_a_copy_stay_there(original: Live) -> None:
    copy = original.home.parent / "copy"

    status, _ = await run(copy, "status")
    switched, _ = await run(copy, "kill-switch", "on", "--reason", "a trial")
    _, token = await run(copy, "token")
    stopped, said = await run(copy, "stop")

    async with aiohttp.ClientSession() as http:
        stranger = {"authorization": f"Bearer {token.split()[-1]}"}
        async with http.get(f"{original.url}/control/status", headers=stranger) as answer:
            let_in = answer.status
        reply = await original.post(http, sender="ann", text="two")
        switch = await asked(original, http, "kill-switch")
    assert (status, switched, let_in) == (3, 0, 401)
    assert (stopped, "not running" in said) == (0, True)
    assert (switch["is_on"], reply["reply"]) == (False, "#2 two")


@pytest.mark.req("W4")
async def test_a_copy_is_taken_over_from_nobody_and_runs_beside_the_original(
    original: Live,
) -> None:
    copy = original.home.parent / "copy"

    async with model_server() as url, live_gateway(copy, with_model(url), "--replace") as second:
        async with aiohttp.ClientSession() as http:
            there = await second.post(http, sender="ann", text="two")
            here = await original.post(http, sender="ann", text="two again")
        taken = json.loads((copy / "run" / "gateway.json").read_text())

    assert (there["reply"], here["reply"]) == ("#2 two", "#2 two again")
    assert taken["token"] == second.token != original.token
    assert original.process.returncode is None
